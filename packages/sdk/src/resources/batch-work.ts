/**
 * What batches and their jobs need besides single requests, loaded when the first one is run or waited for: one module,
 * since whoever runs batches waits for jobs.
 */
export { JobWaiter } from './job-waiter.ts';

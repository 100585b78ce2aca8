/**
 * `shortlink.jobs`: the jobs of large batches, and waiting for them.
 *
 * @module sdk/jobs
 */
export type { Job, Jobs, WaitOptions } from '../../sdk/src/index.ts';

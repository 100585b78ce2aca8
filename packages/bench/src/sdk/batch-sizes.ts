/** Links of a batch that is answered at once, and of one that becomes a job: the most the service takes of each. */
export const SMALL_BATCH = 100;
export const LARGE_BATCH = 10_000;

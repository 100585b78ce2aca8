/** Statuses a job was seen with (spec, "States and transitions"). */
export const JOB_STATUSES = ['processing', 'completed'] as const;

/** Statuses that end a job without completing it. The spec has none; other deployments use these words (DESIGN section 3). */
export const JOB_FAILURE_STATUSES = ['failed', 'cancelled', 'error'] as const;

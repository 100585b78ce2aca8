import type { Job } from '../wire/job.ts';
import { type ErrorFields, ShortlinkError } from './shortlink-error.ts';

/** The job ended without completing, with a status such as `failed` or `cancelled`. `job.results` holds what was done. */
export class JobFailedError extends ShortlinkError {
  static override readonly kind = 'JobFailedError';
  declare readonly name: 'JobFailedError';

  declare readonly jobId: string;
  /** The response that ended the wait. */
  declare readonly job: Job;

  constructor(message: string, fields: ErrorFields<JobFailedError, 'jobId' | 'job'>) {
    super(message, fields);
  }
}

/**
 * `jobs.wait` reached its `timeoutMs` and the job is not done. The job itself continues: wait for it again by its id.
 * Where the last poll failed, its error is the `cause`.
 */
export class JobTimeoutError extends ShortlinkError {
  static override readonly kind = 'JobTimeoutError';
  declare readonly name: 'JobTimeoutError';

  declare readonly jobId: string;
  /** The limit that was passed, in milliseconds. */
  declare readonly timeoutMs: number;
  /** What the last successful poll said; undefined when there was none. */
  declare readonly job: Job | undefined;

  constructor(message: string, fields: ErrorFields<JobTimeoutError, 'jobId' | 'timeoutMs', 'job'>) {
    super(message, fields);
  }
}

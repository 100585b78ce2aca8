import type { Job } from '../wire/job.ts';
import { ShortlinkError } from './shortlink-error.ts';

/** The job ended without completing, with a status such as `failed` or `cancelled`. `job.results` holds what was done. */
export class JobFailedError extends ShortlinkError {
  static override readonly kind = 'JobFailedError';
  declare readonly name: 'JobFailedError';

  /** Identifier of the job. */
  readonly jobId: string;

  /** The response that ended the wait. */
  readonly job: Job;

  constructor(message: string, options: { jobId: string; job: Job }) {
    super(message);
    this.jobId = options.jobId;
    this.job = options.job;
  }
}

/**
 * `jobs.wait` reached its `timeoutMs` and the job is not done. The job itself continues: wait for it again by its id.
 * Where the last poll failed, its error is the `cause`.
 */
export class JobTimeoutError extends ShortlinkError {
  static override readonly kind = 'JobTimeoutError';
  declare readonly name: 'JobTimeoutError';

  /** Identifier of the job. */
  readonly jobId: string;

  /** The limit that was passed, in milliseconds. */
  readonly timeoutMs: number;

  /** What the last successful poll said; undefined when there was none. */
  readonly job: Job | undefined;

  constructor(
    message: string,
    options: { jobId: string; timeoutMs: number; job?: Job | undefined; cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.jobId = options.jobId;
    this.timeoutMs = options.timeoutMs;
    this.job = options.job;
  }
}

import type { Job } from '../wire/job.ts';
import { hasMarker } from './has-marker.ts';
import { ShortlinkError } from './shortlink-error.ts';

const marker = Symbol.for('@shortlink/sdk/JobTimeoutError');

/** `jobs.wait` reached its `timeoutMs` and the job is not done. The job itself goes on: wait for it again by its id. */
export class JobTimeoutError extends ShortlinkError {
  override readonly name: string = 'JobTimeoutError';

  /** Identifier of the job. */
  readonly jobId: string;

  /** The limit that was passed, in milliseconds. */
  readonly timeoutMs: number;

  /** The last answer of the service; undefined when no poll was answered. */
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

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is JobTimeoutError {
    return hasMarker(error, marker);
  }
}

import type { Job } from '../wire/job.ts';
import { hasMarker } from './has-marker.ts';
import { ShortlinkError } from './shortlink-error.ts';

const marker = Symbol.for('@shortlink/sdk/JobFailedError');

/** The job ended without completing, with a status such as `failed` or `cancelled`. `job.results` holds what was done. */
export class JobFailedError extends ShortlinkError {
  override readonly name: string = 'JobFailedError';

  /** Identifier of the job. */
  readonly jobId: string;

  /** The answer that ended it. */
  readonly job: Job;

  constructor(message: string, options: { jobId: string; job: Job }) {
    super(message);
    this.jobId = options.jobId;
    this.job = options.job;
  }

  get [marker](): true {
    return true;
  }

  static override isInstance(error: unknown): error is JobFailedError {
    return hasMarker(error, marker);
  }
}

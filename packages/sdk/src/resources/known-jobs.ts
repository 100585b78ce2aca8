import type { Clock } from '../http/time.ts';
import type { ProcessingBatch } from '../wire/batch.ts';
import { JobLengths } from './poll-timing.ts';

/** Accepted jobs that are remembered for a wait that may follow: enough for every batch in flight. */
const MAX_REMEMBERED_JOBS = 1_000;

/** A job that a batch of this client became. */
interface AcceptedJob {
  acceptedAt: number;
  total: number;
  /** When the service wants the first poll, in milliseconds after the acceptance, where it says so. */
  retryAfterMs: number | undefined;
}

/** What the clients of one account know about its jobs. */
export class KnownJobs {
  /** How long jobs take. */
  readonly lengths = new JobLengths();
  readonly #clock: Clock;
  readonly #accepted = new Map<string, AcceptedJob>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A batch became a job. */
  accepted({ job_id, total }: ProcessingBatch, retryAfterMs: number | undefined): void {
    const [oldest] = this.#accepted.keys();
    if (this.#accepted.size >= MAX_REMEMBERED_JOBS && oldest !== undefined) {
      this.#accepted.delete(oldest);
    }
    this.#accepted.set(job_id, { acceptedAt: this.#clock.now(), total, retryAfterMs });
  }

  /** What is known of a job that will be waited for now; forgotten after that. */
  take(jobId: string): AcceptedJob | undefined {
    const job = this.#accepted.get(jobId);
    this.#accepted.delete(jobId);
    return job;
  }
}

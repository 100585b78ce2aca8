import type { Clock } from '../http/time.ts';
import type { ProcessingBatch } from '../wire/batch.ts';
import { type PollSample, remainingRange } from './poll-timing.ts';

/** Accepted jobs that are remembered for a wait that may follow: enough for every batch in flight. */
const MAX_REMEMBERED_JOBS = 1_000;

/** How much an expected length is lowered after a job was seen complete by its first poll. */
const FIRST_LOWERING = 0.1;
const MAX_LOWERING = 0.5;

/** A job that a batch of this client became. */
export interface AcceptedJob {
  acceptedAt: number;
  total: number;
  /** When the service wants the first poll, in milliseconds after the acceptance, where it says so. */
  retryAfterMs: number | undefined;
}

/**
 * What the clients of one account know about its jobs: those that were accepted, and from earlier ones how long a job takes.
 * So the first poll is made near the end of a job, which saves polls: they count against the plan's quota.
 */
export class KnownJobs {
  readonly #clock: Clock;
  readonly #accepted = new Map<string, AcceptedJob>();
  #msPerLink: number | undefined;
  #lowering = MAX_LOWERING;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A batch became a job. */
  accepted({ job_id, total }: ProcessingBatch, retryAfterMs: number | undefined): void {
    const [oldest] = this.#accepted.keys();
    if (this.#accepted.size >= MAX_REMEMBERED_JOBS) this.#accepted.delete(oldest ?? '');
    this.#accepted.set(job_id, { acceptedAt: this.#clock.now(), total, retryAfterMs });
  }

  /** What is known of a job that will be waited for now; forgotten after that. */
  take(jobId: string): AcceptedJob | undefined {
    const job = this.#accepted.get(jobId);
    this.#accepted.delete(jobId);
    return job;
  }

  /** Expected length of a job of `total` links in milliseconds, or undefined before any job was seen to end. */
  expectedMs(total: number): number | undefined {
    return this.#msPerLink === undefined ? undefined : this.#msPerLink * total;
  }

  /**
   * Learns from the polls of a job, the last of which saw it complete. Where that was the first one, it shows only that the
   * expected length was not too short. The length is then lowered, a little at first and twice as much each time in a row,
   * until a poll comes too early and measures again: a steady service costs three polls for two jobs, one that became ten
   * times faster is caught up with in six jobs. As long as nothing was ever measured it is halved.
   */
  learn(total: number, samples: readonly PollSample[]): void {
    if (!(total > 0)) return;
    const seenMs = samples.at(-1)?.atMs ?? 0;
    const before = samples.slice(0, -1);
    const last = before.at(-1);
    if (last === undefined) {
      const upperBound = seenMs / total;
      const lowered = (this.#msPerLink ?? upperBound) * (1 - this.#lowering);
      this.#msPerLink = Math.min(upperBound, lowered);
      this.#lowering = Math.min(MAX_LOWERING, this.#lowering * 2);
    } else {
      const endMs = last.atMs + (remainingRange(before)?.longest ?? Number.POSITIVE_INFINITY);
      this.#msPerLink = Math.min(seenMs, endMs) / total;
      this.#lowering = FIRST_LOWERING;
    }
  }
}

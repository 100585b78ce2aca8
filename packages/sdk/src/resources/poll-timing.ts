import type { Job } from '../wire/batch.ts';

/** What one poll saw of a job. */
export interface PollSample extends Pick<Job, 'processed' | 'total'> {
  /** When the poll was sent, in milliseconds since the job was accepted. */
  atMs: number;
}

/** Earliest first poll of a job, in milliseconds, and how much later that of a large one is while it is not known how long jobs take. */
const EARLIEST_POLL_MS = 100;
const LARGE_JOB_MS = 50;
/** Number of links from which a job is a large one. */
const LARGE_JOB = 3_000;

/** Shortest wait between two polls, in milliseconds. Polls count against the plan's quota. */
export const MIN_POLL_INTERVAL_MS = 200;
/** Longest wait between two polls, in milliseconds, so that a job that speeds up is seen soon. */
export const MAX_POLL_INTERVAL_MS = 60_000;

/** A forecast is aimed a little late, since a poll just before the end costs a second one. */
const LATE_FACTOR = 1.05;
const LATE_MS = 50;
/** How far a forecast is trusted, in multiples of the time already waited. */
const TRUST_FACTOR = 3;
/** Patience with a job whose progress is known: its end is seen within 1.25 times its length plus 0.5 s. */
const KNOWN_PATIENCE = 0.25;
/** Patience with a job that shows nothing: 0.25 would cost 17 polls in a minute, this costs 10. */
const BLIND_PATIENCE = 0.65;
const PATIENCE_MS = 500;
/** While a job shows nothing, each wait is at most this many times the one before it, so that short jobs are seen soon. */
const BLIND_GROWTH = 2.4;

/** Wait before the first poll of a job that should take `expectedMs`, in milliseconds. A `total` of 0 links is not known. */
export function firstPollDelay(expectedMs: number | undefined, total: number): number {
  const share = total > 0 ? Math.min(1, total / LARGE_JOB) : 1;
  const aimed =
    expectedMs === undefined
      ? EARLIEST_POLL_MS + share * LARGE_JOB_MS
      : expectedMs * LATE_FACTOR + LATE_MS;
  return Math.min(MAX_POLL_INTERVAL_MS, Math.max(EARLIEST_POLL_MS, aimed));
}

/**
 * Wait before the next poll, in milliseconds, from what the polls so far saw (oldest first, at least one): at the latest end
 * that they allow, but early enough that the earliest one is still seen within 1.25 times its length plus 0.5 s. Without any
 * progress, waits grow with the time waited, and cost at most 10 polls in a minute.
 *
 * Extending the last speed alone makes 0.4 to 1.4 polls fewer for a job, and sees the end of one that queues or accelerates after twice its
 * length, where this rule sees it a third late at most.
 */
export function nextPollDelay(samples: readonly PollSample[]): number {
  const last = samples.at(-1);
  const previous = samples.at(-2);
  if (last === undefined) return MIN_POLL_INTERVAL_MS;
  const elapsed = last.atMs;
  const blind = Math.min(
    elapsed * BLIND_PATIENCE + PATIENCE_MS,
    BLIND_GROWTH * (elapsed - (previous?.atMs ?? 0)),
  );
  const range = remainingRange(samples);
  if (range === undefined) return bounded(blind);

  const latestUseful = range.shortest + (elapsed + range.shortest) * KNOWN_PATIENCE + PATIENCE_MS;
  const delay = Math.min(
    range.longest * LATE_FACTOR + LATE_MS,
    latestUseful,
    Math.max(TRUST_FACTOR * elapsed, PATIENCE_MS),
  );
  // Without progress since the poll before, the forecast says nothing: wait as for a job that shows none.
  const standsStill = previous !== undefined && last.processed <= previous.processed;
  return bounded(standsStill ? Math.max(delay, blind) : delay);
}

/** How long a job continues after its last sample, in milliseconds, at the same speed; undefined before any progress. */
export function remainingRange(samples: readonly PollSample[]) {
  const last = samples.at(-1);
  if (last === undefined || !(last.processed >= 1) || !(last.total >= last.processed)) {
    return undefined;
  }
  const left = last.total - last.processed;
  const step = stepOf(samples);
  let shortest = Number.POSITIVE_INFINITY;
  // From nothing, when the wait began. The job may have begun later, and then it is faster.
  let longest = (left * last.atMs) / last.processed;
  // The whole time that it was seen to run, and the last part of it, since jobs speed up when others end.
  for (const from of [samples.find(({ processed }) => processed >= 1), samples.at(-2)]) {
    if (from === undefined || from === last || !(from.processed >= 1)) continue;
    const time = last.atMs - from.atMs;
    const links = last.processed - from.processed;
    if (links < 0) continue;
    // Progress that is shown in steps may be a whole step ahead of what is shown, at either end.
    shortest = Math.min(shortest, (Math.max(0, left - step) * time) / (links + step));
    if (links > step) longest = Math.min(longest, (left * time) / (links - step));
  }
  // Seen running once: it may have begun the moment before.
  if (shortest === Number.POSITIVE_INFINITY) shortest = 0;
  return { shortest: Math.min(shortest, longest), longest };
}

/** The steps in which a job shows its progress: the greatest common divisor of its figures. */
function stepOf(samples: readonly PollSample[]): number {
  let step = 0;
  for (let { processed } of samples) {
    while (processed >= 1) [step, processed] = [processed, step % processed];
  }
  return step;
}

function bounded(delayMs: number): number {
  return Math.min(MAX_POLL_INTERVAL_MS, Math.max(MIN_POLL_INTERVAL_MS, delayMs));
}

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

/** What the clients of one account know about its jobs, to poll first near their end: polls count against the quota. */
export class KnownJobs {
  readonly #accepted = new Map<string, AcceptedJob>();
  #msPerLink: number | undefined;
  #lowering = MAX_LOWERING;
  /** What a job takes at least, in milliseconds, once a poll so early came too early: it costs more than to be a little late ever after. */
  #leastMs = 0;

  /** A batch became a job. */
  accepted(jobId: string, job: AcceptedJob): void {
    const [oldest] = this.#accepted.keys();
    if (this.#accepted.size >= MAX_REMEMBERED_JOBS) this.#accepted.delete(oldest ?? '');
    this.#accepted.set(jobId, job);
  }

  /** What is known of a job that will be waited for now; forgotten, unless the wait fails. */
  take(jobId: string): AcceptedJob | undefined {
    const job = this.#accepted.get(jobId);
    this.#accepted.delete(jobId);
    return job;
  }

  /** Expected length of a job of `total` links in milliseconds, or undefined before any was seen to end. */
  expectedMs(total: number): number | undefined {
    return this.#msPerLink === undefined
      ? undefined
      : Math.max(this.#leastMs, this.#msPerLink * total);
  }

  /**
   * Learns from the polls of a job, the last of which saw it complete. Where that was the first one, the expected length was not
   * too short, and is lowered, a little at first and twice as much each time in a row, until a poll comes too early and
   * measures again: a steady service costs three polls for two jobs, one that became ten times faster is caught up with in six.
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
      if (Number(before[0]?.atMs) < EARLIEST_POLL_MS + LARGE_JOB_MS)
        this.#leastMs = EARLIEST_POLL_MS;
    }
  }
}

/** What one poll saw of a job. */
export interface PollSample {
  /** Time since the wait began, in milliseconds. */
  atMs: number;
  /** Links processed. */
  processed: number;
  /** Links submitted. */
  total: number;
}

/** Wait before the first poll of a job about whose speed nothing is known, in milliseconds. */
export const FIRST_POLL_MS = 150;

/** Shortest wait between two polls, in milliseconds. Polls count against the plan's quota. */
export const MIN_POLL_INTERVAL_MS = 200;

/** Longest wait between two polls, in milliseconds, so that a job that speeds up is seen soon. */
export const MAX_POLL_INTERVAL_MS = 60_000;

/** A forecast is aimed a little late, since a poll just before the end costs a second one. */
const LATE_FACTOR = 1.05;
const LATE_MS = 50;

/** How far a forecast is trusted, in multiples of the time already waited. */
const TRUST_FACTOR = 3;

/** Wait before the first poll, in milliseconds; `expectedMs` is how long the job should take, where that is known. */
export function firstPollDelay(expectedMs: number | undefined): number {
  if (expectedMs === undefined) return FIRST_POLL_MS;
  return Math.min(MAX_POLL_INTERVAL_MS, expectedMs * LATE_FACTOR + LATE_MS);
}

/**
 * Wait before the next poll, in milliseconds, from what the polls so far saw (oldest first, at least one).
 *
 * While progress says nothing, waits double but stay within a quarter of the time waited plus half a second: whenever
 * the job ends, it is seen within 1.25 times its length plus 0.5 s. Once two polls show progress between them, the
 * next one is put where the job should end.
 */
export function nextPollDelay(samples: readonly PollSample[]): number {
  const last = samples.at(-1);
  const previous = samples.at(-2);
  if (last === undefined) return FIRST_POLL_MS;

  const patience = last.atMs / 4 + 500;
  const doubled = 2 * (last.atMs - (previous?.atMs ?? 0));
  const remaining = remainingMs(samples);
  if (remaining === undefined) return bounded(Math.min(patience, doubled));

  // A job that was seen idle may have begun at any moment since, and one seen once may have waited before it began:
  // its speed is still a guess.
  const isGuess = previous === undefined || previous.processed === 0;
  const trusted = isGuess ? patience : TRUST_FACTOR * last.atMs;
  return bounded(Math.min(remaining * LATE_FACTOR + LATE_MS, trusted));
}

/** Time the job still needs at the best speed seen, or undefined where the last poll brought no progress. */
export function remainingMs(samples: readonly PollSample[]): number | undefined {
  const last = samples.at(-1);
  const previous = samples.at(-2) ?? { atMs: 0, processed: 0 };
  if (last === undefined || !(last.processed > previous.processed)) return undefined;

  const left = last.total - last.processed;
  if (!(left >= 0)) return undefined;
  const first = samples.length > 1 ? samples[0] : undefined;
  const speed = Math.max(speedBetween(previous, last), first ? speedBetween(first, last) : 0);
  return speed > 0 ? left / speed : undefined;
}

function speedBetween(
  from: Pick<PollSample, 'atMs' | 'processed'>,
  to: Pick<PollSample, 'atMs' | 'processed'>,
): number {
  return (to.processed - from.processed) / Math.max(1, to.atMs - from.atMs);
}

function bounded(delayMs: number): number {
  return Math.min(MAX_POLL_INTERVAL_MS, Math.max(MIN_POLL_INTERVAL_MS, delayMs));
}

/** Ceiling of the first wait; it doubles with each attempt. */
const BASE_MS = 500;
/** No wait is longer than this. */
const CAP_MS = 30_000;
/** No wait is shorter than this: pure jitter may come out as nothing, which is no backing off at all. */
const FLOOR_MS = 100;

/**
 * Full-jitter exponential backoff: a random wait, in milliseconds, between the floor and a ceiling that doubles.
 *
 * @param attempt the attempt that failed, from 1
 * @param random gives a number from 0 to below 1
 */
export function backoffMs(attempt: number, random: () => number): number {
  const ceiling = Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1));
  return Math.round(FLOOR_MS + random() * (ceiling - FLOOR_MS));
}

/** How much a forecast is lowered after a job was seen complete by its first poll. */
const FIRST_LOWERING = 0.03;
const MAX_LOWERING = 0.5;

/**
 * What the jobs of one client taught about the next one's length, so that its first poll lands near its end: polls
 * count against the plan's quota.
 *
 * A job that is complete at its first poll tells only that the forecast was not too short. The forecast is then
 * lowered, a little at first and twice as much each time in a row, until a poll comes too early and measures again:
 * a steady service costs four polls for three jobs, one that became ten times faster is caught up with in seven jobs.
 */
export class JobForecast {
  #msPerLink: number | undefined;
  #lowering = FIRST_LOWERING;

  /** Expected length of a job of `total` links in milliseconds, or undefined before any job was seen. */
  expectedMs(total: number): number | undefined {
    return this.#msPerLink === undefined ? undefined : this.#msPerLink * total;
  }

  /** A job was seen incomplete and later complete: it took about `lengthMs`. */
  measured(total: number, lengthMs: number): void {
    if (!(total > 0) || !(lengthMs >= 0)) return;
    this.#msPerLink = lengthMs / total;
    this.#lowering = FIRST_LOWERING;
  }

  /** A job was complete at its first poll, `seenMs` after it was accepted. */
  completeAtFirstPoll(total: number, seenMs: number): void {
    if (!(total > 0)) return;
    const upperBound = seenMs / total;
    const lowered = (this.#msPerLink ?? upperBound) * (1 - this.#lowering);
    this.#msPerLink = Math.min(upperBound, lowered);
    this.#lowering = Math.min(MAX_LOWERING, this.#lowering * 2);
  }
}

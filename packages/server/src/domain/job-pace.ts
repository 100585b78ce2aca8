/** Links per second that a job is expected to make before any was seen. */
const FIRST_RATE = 30_000;

/** Share that each new observation has in the rate. */
const NEWEST_SHARE = 0.2;

/** A client that waits longer learns too late that the job is complete. */
const MAX_SECONDS = 30;

/** How fast jobs make links at present, and so when it is worth asking for one again. */
export class JobPace {
  #linksPerSecond = FIRST_RATE;
  #lastAt = 0;

  /** So many links were made from `startedAt` to `now`, in milliseconds. Of two runs side by side, the second counts from the end of the first. */
  made(links: number, startedAt: number, now: number): void {
    const elapsed = now - Math.max(startedAt, this.#lastAt);
    this.#lastAt = now;
    if (elapsed <= 0) return;
    const rate = (links * 1_000) / elapsed;
    this.#linksPerSecond += NEWEST_SHARE * (rate - this.#linksPerSecond);
  }

  /**
   * Whole seconds, 0 to 30, until a poll of an unfinished job is worth it; with 0, for less than a second, the client decides. A job that runs is
   * measured by its own progress or that of the others, whichever is faster; one that has not begun waits for those before it. A long job is polled
   * less often. `ageMs` is from when it was accepted on; `pendingJobs` are not complete, this one perhaps among them.
   */
  secondsUntilPoll(job: { total: number; processed: number; ageMs: number; pendingJobs: number }) {
    const { total, processed, ageMs, pendingJobs } = job;
    const own = ageMs > 0 ? (processed * 1_000) / ageMs : 0;
    const left = processed > 0 ? total - processed : total * Math.max(1, pendingJobs);
    const expected = left / Math.max(own, this.#linksPerSecond);
    const overdue = ageMs / 10_000;
    return Math.min(MAX_SECONDS, Math.max(Math.floor(expected), Math.floor(overdue)));
  }
}

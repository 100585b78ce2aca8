/** Longest learned window, in milliseconds: rates are per minute. Longer waits are quotas of a day or a month. */
const MAX_WINDOW_MS = 60_000;

/**
 * How much more is tried than what got through. Of 1,000 requests at once on 100 a window, and then on a window that others
 * leave 20, 80 and 80 of, it took with 1.25: 1,100 responses with 429 and 38 windows; 1.5: 1,300 and 23; 2: 1,700 and 17.
 */
const GROWTH = 1.5;

/**
 * The quota of a service that states none, learned from its 429s: as many requests as got through before one may go in each
 * window, and half as many more. A window ends when a `Retry-After` says so; until two have, the first wait is taken for their
 * length. It may be wrong: a request that it lets go too early costs a 429, which is waited out.
 */
export class LearnedQuota {
  /** Requests of the window that got through before its first 429. */
  #quota = 0;
  #windowMs = 0;
  #startsAt = Number.NEGATIVE_INFINITY;
  #endsAt = Number.POSITIVE_INFINITY;
  /** Requests that may still go in this window. */
  #left = Number.POSITIVE_INFINITY;
  #passed = 0;
  #isRefused = false;

  /** How long the next request should wait, in milliseconds. */
  waitMs(now: number): number {
    if (now >= this.#endsAt) this.#next(now);
    return this.#left > 0 ? 0 : this.#endsAt - now;
  }

  take(): void {
    this.#left -= 1;
  }

  /** A request got through. */
  pass(sentAt: number): void {
    if (sentAt >= this.#startsAt) this.#passed += 1;
  }

  /** A request was refused, and the window ends after `retryAfterMs`. */
  refuse(sentAt: number, now: number, retryAfterMs = 0): void {
    if (sentAt < this.#startsAt || !(retryAfterMs > 0 && retryAfterMs <= MAX_WINDOW_MS)) return;
    this.#isRefused = true;
    this.#left = 0;
    this.#endsAt = now + retryAfterMs;
    if (this.#windowMs === 0) this.#windowMs = retryAfterMs;
  }

  #next(now: number): void {
    const lengthMs = this.#endsAt - this.#startsAt;
    if (!this.#isRefused) {
      this.#quota = Math.max(this.#quota, this.#passed);
    } else if (this.#passed > 0) {
      this.#quota = Math.max(this.#passed, this.#quota / 2);
      if (lengthMs <= MAX_WINDOW_MS) this.#windowMs = lengthMs;
    } else {
      // Nothing got through: the window before was not over yet, and this is the rest of it.
      this.#windowMs = Math.min(MAX_WINDOW_MS, this.#windowMs + lengthMs);
    }
    const idle = Math.floor((now - this.#endsAt) / this.#windowMs) * this.#windowMs;
    this.#startsAt = this.#endsAt + idle;
    this.#endsAt = this.#startsAt + this.#windowMs;
    this.#left = Math.ceil(this.#quota * GROWTH) || Number.POSITIVE_INFINITY;
    this.#passed = 0;
    this.#isRefused = false;
  }
}

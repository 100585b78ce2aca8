import type { Clock } from './clock.ts';

/**
 * The pause after a 429, shared by all requests of a client: the limit is the account's, so while it lasts every other
 * request would be refused too.
 */
export class Cooldown {
  readonly #clock: Clock;
  #until = Number.NEGATIVE_INFINITY;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Pauses for `ms` from now. Returns false where an earlier call already pauses for longer. */
  extend(ms: number): boolean {
    const until = this.#clock.now() + ms;
    if (until <= this.#until) return false;
    this.#until = until;
    return true;
  }

  /** Milliseconds left; 0 or less when nothing is paused. */
  leftMs(): number {
    return this.#until - this.#clock.now();
  }
}

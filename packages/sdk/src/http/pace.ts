import type { Clock } from './clock.ts';

const MINUTE_MS = 60_000;

/** How much lateness of timers is made up for, so that it does not add up over a long run. */
const LATENESS_MS = 50;

/** A request that took its turn. */
export interface Turn {
  /** When the service had certainly counted it: when it was answered, or given up. Until then, when it was sent. */
  countedAt: number;
}

/**
 * Spreads requests evenly, one every 60 s / N, and besides starts no request until 60 s after the one N places before it
 * was answered. The service counts a request somewhere between sending and answering, so it never sees more than N in
 * any 60 s, however its clock minutes lie and however latency varies.
 *
 * Evenly, and not in bursts of N: then a second process, or the same one started again, meets a window that still has
 * room, and a poll waits for one gap instead of for the next minute.
 */
export class Pace {
  readonly #clock: Clock;
  readonly #gapMs: number;
  /** The last N turns, a ring. */
  readonly #turns: Turn[] = [];
  readonly #size: number;
  #taken = 0;
  #nextAt = Number.NEGATIVE_INFINITY;

  /** @param isEven `false` for no gaps: N at once, and the next N when a minute has passed since each of them */
  constructor(requestsPerMinute: number, clock: Clock, isEven = true) {
    this.#clock = clock;
    this.#gapMs = isEven ? MINUTE_MS / requestsPerMinute : 0;
    this.#size = Math.max(1, Math.floor(requestsPerMinute));
  }

  /** Milliseconds until the next turn may be taken; 0 or less when it may be taken now. */
  leftMs(): number {
    const oldest = this.#turns[this.#taken % this.#size];
    const windowEnd = oldest === undefined ? this.#nextAt : oldest.countedAt + MINUTE_MS;
    return Math.max(this.#nextAt, windowEnd) - this.#clock.now();
  }

  /** Takes a turn. Call it only when {@link leftMs} says so, and in the same turn of the event loop. */
  take(): Turn {
    const now = this.#clock.now();
    const turn = { countedAt: now };
    this.#turns[this.#taken % this.#size] = turn;
    this.#taken += 1;
    this.#nextAt = Math.max(this.#nextAt, now - LATENESS_MS) + this.#gapMs;
    return turn;
  }

  /** The request of this turn was answered, or given up. */
  finish(turn: Turn): void {
    turn.countedAt = this.#clock.now();
  }
}

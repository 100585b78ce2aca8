import type { Clock } from './clock.ts';
import type { QuotaWindow } from './rate-limit-header.ts';

/** The time to a window's end is told in whole seconds, rounded up. */
const RESOLUTION_MS = 1_000;

/** While answers are on their way, the next one may tell that there is room after all, in milliseconds. */
const LOOK_AGAIN_MS = 50;

/** How long to hold a request back. */
export interface QuotaWait {
  waitMs: number;
  /** A window is used up until then; else it only takes an answer that is on its way. */
  isUsedUp: boolean;
}

/** Of a window: what is left, and when it ends at the earliest and at the latest. */
interface KnownWindow {
  remaining: number;
  endsAfter: number;
  endsAt: number;
}

/**
 * What the service tells of the account's quota in its `RateLimit` headers, where it sends them. Requests go out as fast as they come
 * while there is some left, and wait for the next window when there is none, so that no 429 is needed to learn it.
 */
export class Quota {
  readonly #clock: Pick<Clock, 'now'>;
  readonly #windows = new Map<string, KnownWindow>();
  #inFlight = 0;
  /** A window has ended, and no answer has told of the next one: then requests go out one by one. */
  #isUnsure = false;

  constructor(clock: Pick<Clock, 'now'>) {
    this.#clock = clock;
  }

  /** Whether the next request has to wait. A window that ends later than in `maxWaitMs` is left to the service's 429. */
  wait(maxWaitMs: number): QuotaWait | undefined {
    const now = this.#clock.now();
    let longest: QuotaWait | undefined;
    for (const [name, { remaining, endsAt }] of this.#windows) {
      const waitMs = endsAt - now;
      if (waitMs <= 0) {
        this.#windows.delete(name);
        this.#isUnsure = true;
      } else if (waitMs <= maxWaitMs && remaining <= this.#inFlight) {
        const isUsedUp = remaining <= 0;
        const wait = { waitMs: isUsedUp ? waitMs : Math.min(waitMs, LOOK_AGAIN_MS), isUsedUp };
        if (longest === undefined || wait.waitMs > longest.waitMs) longest = wait;
      }
    }
    const mustAsk = this.#isUnsure && this.#inFlight > 0;
    return longest ?? (mustAsk ? { waitMs: LOOK_AGAIN_MS, isUsedUp: false } : undefined);
  }

  /** A request goes out. Hand what is returned to {@link finish} when it was answered, or given up. */
  take(): number {
    this.#inFlight += 1;
    return this.#clock.now();
  }

  /** @param windows what the answer tells of them; none where it tells nothing, or there was no answer */
  finish(sentAt: number, windows: readonly QuotaWindow[]): void {
    this.#inFlight -= 1;
    if (windows.length > 0) this.#isUnsure = false;
    const now = this.#clock.now();
    for (const { name, remaining, resetMs } of windows) {
      // The service wrote this between the sending and now.
      const told = {
        remaining,
        endsAfter: sentAt + resetMs - RESOLUTION_MS,
        endsAt: now + resetMs,
      };
      const known = this.#windows.get(name);
      if (known === undefined || told.endsAfter > known.endsAt) this.#windows.set(name, told);
      // Answers overtake each other: one of a window before this says nothing.
      else if (told.endsAt >= known.endsAfter) this.#windows.set(name, narrowed(known, told));
    }
  }
}

/** What two answers tell of one window. The quota only shrinks within it, so the worse of the two holds. */
function narrowed(one: KnownWindow, other: KnownWindow): KnownWindow {
  return {
    remaining: Math.min(one.remaining, other.remaining),
    endsAfter: Math.max(one.endsAfter, other.endsAfter),
    endsAt: Math.min(one.endsAt, other.endsAt),
  };
}

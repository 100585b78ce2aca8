import { createApiError } from '../errors/api-errors.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { ClientSettings } from '../options.ts';
import { LearnedQuota } from './learned-quota.ts';
import type { TransportRequest } from './request.ts';
import type { QuotaWindow } from './response-headers.ts';
import type { Clock } from './time.ts';
import type { CooldownEvent } from './watching.ts';

const MINUTE_MS = 60_000;

/** Timers fire late. Up to this much is taken off the next wait, so that a long run keeps its pace. */
const LATENESS_MS = 50;

/** A service gives the time to a window's end in whole seconds, rounded up. */
const RESOLUTION_MS = 1_000;

/** Permission to send one request now. Pass it to {@link Limiter.finish} when the request has ended. */
export interface Turn {
  /** 1 for the first request of the client. */
  number: number;
  /** No other request was under way when it was sent: only its response may say that the quota has grown. */
  isAlone: boolean;
  sentAt: number;
  /** When the service has certainly counted it: at its response or its end. Until then it is `sentAt`. */
  countedAt: number;
}

/** How a request ended. */
export interface RequestEnd {
  /** The service may have counted it. @default true */
  wasSent?: boolean;
  /** What the response says, where there is one. */
  status?: number | undefined;
  retryAfterMs?: number | undefined;
  windows?: readonly QuotaWindow[];
}

/** Called when the client begins to pause, or pauses for longer. */
export type OnPause = (pause: Omit<CooldownEvent, 'id'>) => void;

/** What a call says about its requests. */
export interface TurnOptions
  extends Pick<ClientSettings, 'maxRetryAfterMs'>,
    Pick<TransportRequest<unknown>, 'ignoresQuota'> {
  onPause: OnPause;
  /** Fail instead of waiting for a pause or a quota to end. */
  failsAtLimit: boolean;
}

/** What the client knows about one window of the account's quota. Times are on the client's clock. */
interface KnownWindow extends Pick<QuotaWindow, 'quota' | 'windowMs'> {
  /** The lowest figure stated: responses overtake each other. With the latest one, 20 at a time use 69% of a quota, not 99%. */
  left: number;
  /** The last request that may go in this window, by its number. */
  last: number;
  /** It ends after `endsAfter`, and at `endsAt` at the latest. */
  endsAfter: number;
  endsAt: number;
  /**
   * The last request that was sent before the window may have ended, by its number: the next window may have counted later
   * ones. Without this, one of 1,000 random scenes in limiter.test.ts sends a request too many.
   */
  lastInTime: number;
  /** When a response last stated it. Without it, a window that is used up for a day would never be asked about again. */
  statedAt: number;
}

/**
 * When may the next request go? After the pause of a 429, which the whole client observes; within the quota that the service
 * states in `RateLimit` headers, or that was learned; and at the caller's own pace, `requestsPerMinute`. No request waits for
 * the response of another one, which may hang, or be dropped silently by the runtime of a worker.
 */
export class Limiter {
  readonly #clock: Clock;
  /** How many requests the service has taken, whatever came of them: all that got a response, except a 429. */
  passed = 0;
  /** Requests that were sent, and those of them that are under way. */
  #sent = 0;
  #inFlight = 0;
  #pausedUntil = Number.NEGATIVE_INFINITY;
  /** The part of the pause that the service asked for: a client that shares the limiter may accept less. */
  #askedUntil = Number.NEGATIVE_INFINITY;
  #reportedUntil = Number.NEGATIVE_INFINITY;
  readonly #windows = new Map<string, KnownWindow>();
  readonly #learned = new LearnedQuota();
  /** 0 is no pace. */
  readonly #gapMs: number;
  /** The last N turns, a ring, where N is the number of requests per minute. */
  readonly #turns: Turn[] = [];
  readonly #ringSize: number;
  #nextAt = Number.NEGATIVE_INFINITY;

  constructor(requestsPerMinute: number, clock: Clock) {
    this.#gapMs = MINUTE_MS / requestsPerMinute;
    this.#ringSize = Math.max(1, Math.floor(requestsPerMinute));
    this.#clock = clock;
  }

  /**
   * Waits until a request may be sent, and looks again after each wait, because much may have changed.
   *
   * @throws RateLimitError for a quota longer than `maxRetryAfterMs`, and with `failsAtLimit` for any pause or quota
   */
  async turn(options: TurnOptions, signal?: AbortSignal): Promise<Turn> {
    const { failsAtLimit, ignoresQuota, maxRetryAfterMs: maxWaitMs } = options;
    for (;;) {
      const quotaMs = ignoresQuota ? 0 : this.#quotaWaitMs(options);
      const statedMs = Math.max(quotaMs, this.#askedUntil - this.#clock.now());
      if (statedMs > maxWaitMs) throw limitError(statedMs, `maxRetryAfterMs is ${maxWaitMs}`);
      const limitMs = Math.max(this.#pausedUntil - this.#clock.now(), quotaMs);
      if (failsAtLimit && limitMs > 0) throw limitError(limitMs, 'maxRetries is 0');
      // What was only learned may be wrong: it fails no call, and asks for no longer wait than the caller accepts.
      const isHeld = !failsAtLimit && !ignoresQuota && this.#windows.size === 0;
      const learnedMs = isHeld ? this.#learned.waitMs(this.#clock.now()) : 0;
      const waitMs = Math.max(limitMs, learnedMs > maxWaitMs ? 0 : learnedMs, this.#paceWaitMs());
      if (waitMs <= 0) return this.#take();
      await this.#clock.delay(waitMs, signal);
    }
  }

  /** After a 429, nothing is sent for `waitMs`. A longer pause is kept. */
  pause(waitMs: number, retryAfterMs: number | undefined, onPause: OnPause): void {
    const until = this.#clock.now() + waitMs;
    if (until <= this.#pausedUntil) return;
    this.#pausedUntil = until;
    this.#askedUntil = this.#clock.now() + (retryAfterMs ?? 0);
    this.#report(until, { waitMs, retryAfterMs }, onPause);
  }

  /** A request that was certainly never sent gives its part of the quota back, but keeps its place in the caller's pace. */
  finish(turn: Turn, { wasSent = true, status, retryAfterMs, windows = [] }: RequestEnd = {}) {
    turn.countedAt = this.#clock.now();
    this.#inFlight -= 1;
    for (const window of wasSent ? [] : this.#windows.values()) {
      // Those up to `last - left` were counted before `left` was stated.
      if (turn.number > window.last - window.left) window.last += 1;
      if (turn.number > window.lastInTime) window.lastInTime += 1;
    }
    if (status === 429) {
      this.#learned.refuse(turn.sentAt, turn.countedAt, retryAfterMs);
    } else if (status !== undefined) {
      this.passed += 1;
      this.#learned.pass(turn.sentAt);
    }
    for (const window of windows) this.#learn(turn, window);
  }

  #take(): Turn {
    const now = this.#clock.now();
    this.#sent += 1;
    const isAlone = this.#inFlight === 0;
    const turn = { number: this.#sent, isAlone, sentAt: now, countedAt: now };
    this.#inFlight += 1;
    if (this.#gapMs > 0) {
      this.#turns[this.#sent % this.#ringSize] = turn;
      this.#nextAt = Math.max(this.#nextAt, now - LATENESS_MS) + this.#gapMs;
    }
    this.#learned.take();
    for (const window of this.#windows.values()) {
      if (now <= window.endsAfter) window.lastInTime = this.#sent;
    }
    return turn;
  }

  /**
   * One request every 60 s / N, and none until 60 s after the one N before got its response. The service counts a request
   * between the two, so it sees at most N in any 60 s. Bursts of N would leave no room for a second process or a poll.
   */
  #paceWaitMs(): number {
    const oldest = this.#turns[(this.#sent + 1) % this.#ringSize];
    const windowEnd = oldest === undefined ? this.#nextAt : oldest.countedAt + MINUTE_MS;
    return Math.max(this.#nextAt, windowEnd) - this.#clock.now();
  }

  /**
   * The wait until the windows that are used up have ended. One that ends later than the client may wait counts until
   * `maxRetryAfterMs` after a response last stated it: then a request asks the service again.
   */
  #quotaWaitMs({ maxRetryAfterMs: maxWaitMs, onPause }: TurnOptions): number {
    const now = this.#clock.now();
    let longest = 0;
    for (const [name, known] of this.#windows) {
      const window = known.endsAt > now ? known : this.#nextWindow(known);
      if (window === undefined) this.#windows.delete(name);
      else this.#windows.set(name, window);
      if (window === undefined || this.#sent < window.last) continue;
      const waitMs = window.endsAt - now;
      const isTrusted = waitMs <= maxWaitMs || now < window.statedAt + maxWaitMs;
      if (isTrusted) longest = Math.max(longest, waitMs);
    }
    if (longest > 0 && longest <= maxWaitMs) {
      this.#report(now + longest, { waitMs: longest, retryAfterMs: undefined }, onPause);
    }
    return longest;
  }

  /** The window after one that ended; undefined where its size is not known, or no response stated the last one. */
  #nextWindow(ended: KnownWindow): KnownWindow | undefined {
    const { quota, windowMs, lastInTime, statedAt, endsAt } = ended;
    if (quota === undefined || windowMs === undefined || statedAt < endsAt - windowMs) return;
    const endsAfter = ended.endsAfter + windowMs;
    const last = lastInTime + quota;
    return { ...ended, left: quota, last, endsAfter, endsAt: endsAt + windowMs };
  }

  #learn({ number, isAlone, sentAt, countedAt }: Turn, stated: QuotaWindow): void {
    const { name, remaining, resetMs, quota, windowMs } = stated;
    // The service wrote this after the request was sent, and had counted the requests up to this one.
    const window: KnownWindow = {
      left: remaining,
      last: number + remaining,
      endsAfter: sentAt + resetMs - RESOLUTION_MS,
      endsAt: countedAt + resetMs,
      lastInTime: this.#sent,
      quota,
      windowMs,
      statedAt: countedAt,
    };
    const known = this.#windows.get(name);
    // A response that belongs to an earlier window is ignored.
    if (known !== undefined && window.endsAt < known.endsAfter) return;
    if (known !== undefined && window.endsAfter <= known.endsAt) {
      // The lowest figure stays, and no more requests go than by either response.
      if (remaining >= known.left && !(isAlone && number === this.#sent)) {
        window.left = known.left;
        window.last = Math.min(known.last, window.last);
      }
      window.endsAfter = Math.max(known.endsAfter, window.endsAfter);
      window.endsAt = Math.min(known.endsAt, window.endsAt);
      window.lastInTime = known.lastInTime;
    }
    this.#windows.set(name, window);
  }

  #report(until: number, pause: Parameters<OnPause>[0], onPause: OnPause): void {
    if (until <= this.#reportedUntil + 1) return;
    this.#reportedUntil = until;
    onPause(pause);
  }
}

function limitError(waitMs: number, reason: string): ShortlinkError {
  const retryAfterMs = Math.ceil(waitMs);
  const seconds = Math.ceil(retryAfterMs / 1000);
  const message = `Rate limited: try again in ${seconds} s. Nothing was sent, because ${reason}`;
  return createApiError({ message, status: 429, headers: new Headers(), retryAfterMs });
}

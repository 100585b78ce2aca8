import { ApiError, PlanLimitError, RateLimitError } from '../errors/api-errors.ts';
import { ConnectionError, isOutcomeUnknown, TimeoutError } from '../errors/call-errors.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';

/** What the rules need to know of a call. */
export interface RetryCall {
  /** The request only asks: a GET, or a POST that changes nothing. */
  isRead: boolean;
  /** The request carries an `Idempotency-Key`, so the service carries it out once however often it is sent. */
  hasIdempotencyKey: boolean;
  /** When an attempt was first lost: since then the service may have carried the request out, whatever it says to the next one. */
  lostAt?: number | undefined;
}

/** Whether a failed attempt may be repeated without creating a link twice: the table of `packages/docs/sdk/exactly-once.md`, row by row. */
export function isRetryable(error: unknown, call: RetryCall): boolean {
  const isRepeatable = call.isRead || call.hasIdempotencyKey;
  // 429: refused before any work.
  if (RateLimitError.isInstance(error)) return true;
  // Never connected; or lost after sending.
  if (ConnectionError.isInstance(error)) {
    return !error.isPermanent && (isRepeatable || error.outcome === 'not-sent');
  }
  if (TimeoutError.isInstance(error)) return isRepeatable || error.outcome === 'not-sent';
  if (!ApiError.isInstance(error)) return false;
  const saysWhen = error.retryAfterMs !== undefined;
  // 503 that says when to come back: refused before any work.
  if (error.status === 503 && saysWhen) return true;
  // 409 that says when to come back: another request with the same key is still running.
  if (error.status === 409) return call.hasIdempotencyKey && saysWhen;
  // The service, or a proxy before it, failed in a way that may pass. 501 doesn't pass: it says "not implemented".
  const mayPass = error.status === 408 || (error.status >= 500 && error.status !== 501);
  return isRepeatable && mayPass;
}

/** What follows a failed attempt: undefined means another one, else the error that the call ends with. */
export function decide(
  error: ShortlinkError,
  call: RetryCall,
  limits: { retriesLeft: number; maxRetryAfterMs: number; now: number },
): ShortlinkError | undefined {
  const isRepeated =
    limits.retriesLeft > 0 &&
    isRetryable(error, call) &&
    !asksTooLongWait(error, limits.maxRetryAfterMs) &&
    !isKeyForgotten(call, limits.now);
  return isRepeated ? undefined : finalError(call, error);
}

/** How long the service asks to wait, in milliseconds. */
function askedWaitMs(error: unknown): number {
  return (ApiError.isInstance(error) && error.retryAfterMs) || 0;
}

/** Whether the service asks for a longer wait than the caller accepts. */
export function asksTooLongWait(error: unknown, maxRetryAfterMs: number): boolean {
  return askedWaitMs(error) > maxRetryAfterMs;
}

/** The wait before the next attempt, in milliseconds: never shorter than what the service asks for. */
export function retryWaitMs(error: unknown, attempt: number, random: () => number): number {
  return Math.max(askedWaitMs(error), backoffMs(attempt, random));
}

/** Ceiling of the first wait; it doubles with each attempt. */
const BASE_MS = 500;
/** No wait is longer than this. */
const CAP_MS = 30_000;
/** No wait is shorter than this: pure jitter may come out as nothing, which is no backing off at all. */
const FLOOR_MS = 100;

/** Full-jitter exponential backoff, in milliseconds. `attempt` counts from 1, `random` gives a number from 0 to below 1. */
export function backoffMs(attempt: number, random: () => number): number {
  const ceiling = Math.min(CAP_MS, BASE_MS * 2 ** (attempt - 1));
  return Math.round(FLOOR_MS + random() * (ceiling - FLOOR_MS));
}

/** Services keep idempotency keys for 24 hours; an hour of it is left for clocks and timeouts. */
const KEY_LIFETIME_MS = 23 * 3_600_000;

/** Whether the service may have forgotten the key of a lost POST, so that sending it again could create a second link. */
export function isKeyForgotten({ isRead, lostAt }: RetryCall, now: number): boolean {
  return !isRead && lostAt !== undefined && now - lostAt > KEY_LIFETIME_MS;
}

/** The error that a call ends with. A last rejection alone would claim that a lost attempt before it created nothing. */
export function finalError(call: RetryCall, last: ShortlinkError): ShortlinkError {
  const { lostAt } = call;
  const isSettled = lostAt === undefined || isOutcomeUnknown(last) || settlesEarlierAttempts(last);
  if (call.isRead || isSettled) return last;
  const message = `An attempt may have been carried out; the last one failed: ${last.message}`;
  return new ConnectionError(message, { outcome: 'unknown', cause: last });
}

/**
 * Whether a response settles what became of earlier attempts with the same key: the service's own 400, 422 and plan limit,
 * which it gives only after it has looked the key up; and 413, since the body was as large before. It gives others, such as
 * 401 and 429, before that, and the rest may come from a proxy that never asked it.
 */
function settlesEarlierAttempts(error: ShortlinkError): boolean {
  return (
    PlanLimitError.isInstance(error) ||
    (ApiError.isInstance(error) && (error.body ? [400, 413, 422] : [413]).includes(error.status))
  );
}

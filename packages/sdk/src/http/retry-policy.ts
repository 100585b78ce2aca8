import { ApiError } from '../errors/api-error.ts';
import { ConnectionError } from '../errors/connection-error.ts';
import { RateLimitError } from '../errors/rate-limit-error.ts';
import { TimeoutError } from '../errors/timeout-error.ts';
import { backoffMs } from './backoff.ts';

/** What the policy needs to know of a request. */
export interface RetrySubject {
  method: 'GET' | 'POST';
  /** The request carries an `Idempotency-Key`, so the service carries it out once however often it is sent. */
  hasIdempotencyKey: boolean;
}

/** The service, or a proxy before it, failed in a way that may pass. */
const PASSING_STATUSES: ReadonlySet<number> = new Set([500, 502, 503, 504]);

/** Whether a failed attempt may be repeated without creating a link twice: the retry table of the README, row by row. */
export function isRetryable(error: unknown, subject: RetrySubject): boolean {
  const repeatable = subject.method === 'GET' || subject.hasIdempotencyKey;
  // 429: refused before any work.
  if (RateLimitError.isInstance(error)) return true;
  // Never connected; or lost after sending, or out of time.
  if (ConnectionError.isInstance(error) || TimeoutError.isInstance(error)) {
    return repeatable || error.outcome === 'not-sent';
  }
  if (!ApiError.isInstance(error)) return false;
  const saysWhen = error.retryAfterMs !== undefined;
  // 503 that says when to come back: refused before any work.
  if (error.status === 503 && saysWhen) return true;
  // 409 that says when to come back: a twin of this request, with the same key, is still running.
  if (error.status === 409) return subject.hasIdempotencyKey && saysWhen;
  return repeatable && PASSING_STATUSES.has(error.status);
}

/** How long the service asks to wait, in milliseconds, where it does. */
export function askedWaitMs(error: unknown): number | undefined {
  return ApiError.isInstance(error) ? error.retryAfterMs : undefined;
}

/** The wait before the next attempt, in milliseconds: never shorter than what the service asks for. */
export function retryWaitMs(error: unknown, attempt: number, random: () => number): number {
  return Math.max(askedWaitMs(error) ?? 0, backoffMs(attempt, random));
}

import { parseHttpDate } from './http-date.ts';

/** RFC 9110 has whole seconds only; some services send decimals, and cutting those would come back too early. */
const SECONDS = /^\d+(\.\d+)?$/;

/**
 * Reads `Retry-After` (RFC 9110 section 10.2.3): seconds or an HTTP-date. Returns the wait in milliseconds, rounded up
 * and never negative, or undefined where there is no header or it can't be read.
 *
 * A date is compared with the answer's own `Date` header, so that a wrong clock on either side does no harm; without one
 * (browsers hide it from other origins) with the local time `now`.
 */
export function parseRetryAfter(headers: Headers, now: number): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (value === undefined) return undefined;
  if (SECONDS.test(value)) {
    return Math.min(Math.ceil(Number(value) * 1000), Number.MAX_SAFE_INTEGER);
  }
  const serverDate = parseHttpDate(headers.get('date')?.trim() ?? '', now);
  const from = serverDate ?? now;
  const date = parseHttpDate(value, from);
  return date === undefined ? undefined : Math.max(0, date - from);
}

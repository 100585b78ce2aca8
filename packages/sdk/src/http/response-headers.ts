import { HEADERS } from '../wire/routes.ts';

/** RFC 9110 has whole seconds only; some services send decimals, and cutting those would come back too early. */
const SECONDS = /^\d+(\.\d+)?$/;

/**
 * Reads `Retry-After` (RFC 9110 section 10.2.3): the wait in milliseconds, rounded up, or undefined where it can't be read. A
 * date is compared with the response's own `Date`, so that a wrong clock does no harm, or, without one, with `now`.
 */
export function parseRetryAfter(
  headers: { get(name: string): string | null },
  now: number,
): number | undefined {
  const value = headers.get('retry-after')?.trim();
  if (value === undefined) return undefined;
  if (SECONDS.test(value)) {
    return Math.min(Math.ceil(Number(value) * 1000), Number.MAX_SAFE_INTEGER);
  }
  const date = parseHttpDate(value);
  const from = parseHttpDate(headers.get('date')?.trim() ?? '') ?? now;
  return date === undefined ? undefined : Math.max(0, date - from);
}

/** The three forms of an HTTP-date (RFC 9110 section 5.6.7). The third one, of `asctime`, is UTC without saying so. */
const HTTP_DATE =
  /^[a-z]{3,9}(?:, \d\d[ -][a-z]{3}[ -]\d{2,4} [\d:]{8} GMT|( [a-z]{3} [ \d]\d [\d:]{8} \d{4}))$/i;

/** Reads an HTTP-date. Returns milliseconds since 1970, or undefined for anything else. */
export function parseHttpDate(text: string): number | undefined {
  const form = HTTP_DATE.exec(text);
  const ms = form === null ? Number.NaN : Date.parse(form[1] === undefined ? text : `${text} GMT`);
  return Number.isNaN(ms) ? undefined : ms;
}

/** One window of the account's quota, as a response states it. */
export interface QuotaWindow {
  /** What the service calls it, such as `minute`. */
  name: string;
  /** Requests left in it. */
  remaining: number;
  /** When it ends, in milliseconds from the response. */
  resetMs: number;
  /** Requests of a whole window, and its length in milliseconds, where the service says them. */
  quota?: number | undefined;
  windowMs?: number | undefined;
}

/** An item of the list with its parameters: `"minute";r=12;t=34`. A name may hold commas, so quotes are read first. */
const ITEM = /"((?:[^"\\]|\\.)*)"((?:\s*;\s*[\w*.-]+(?:=(?:"(?:[^"\\]|\\.)*"|[^;,"]*))?)*)/g;

const PARAMETER = /;\s*([\w*.-]+)=(\d+)/g;

/** A quota of something else than requests, such as bytes or requests under way. */
const OTHER_UNIT = /;\s*qu="(?!requests")/;

/** Reads `RateLimit` and `RateLimit-Policy` (draft-ietf-httpapi-ratelimit-headers-11). What can't be read is skipped. */
export function parseRateLimit(headers: { get(name: string): string | null }): QuotaWindow[] {
  const windows: QuotaWindow[] = [];
  const policies = new Map(items(headers.get(HEADERS.rateLimitPolicy)));
  for (const [name, { r, t }] of items(headers.get(HEADERS.rateLimit))) {
    const { q, w, other } = policies.get(name) ?? {};
    if (other || r === undefined || t === undefined) continue;
    windows.push({ name, remaining: r, resetMs: t * 1000, quota: q, windowMs: w && w * 1000 });
  }
  return windows;
}

function items(value: string | null): [name: string, parameters: Record<string, number>][] {
  return [...(value ?? '').matchAll(ITEM)].map(([, name = '', parameters = '']) => [
    name,
    Object.fromEntries([
      ...[...parameters.matchAll(PARAMETER)].map(([, key = '', digits]) => [key, Number(digits)]),
      ['other', Number(OTHER_UNIT.test(parameters))],
    ]),
  ]);
}

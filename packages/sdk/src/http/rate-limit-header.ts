import { HEADERS } from '../wire/routes.ts';

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

/**
 * Reads `RateLimit` and `RateLimit-Policy` (IETF draft-ietf-httpapi-ratelimit-headers-11), an addition to the service. What can't be
 * read is skipped: then a 429 says it soon enough.
 */
export function parseRateLimit(headers: { get(name: string): string | null }): QuotaWindow[] {
  const windows: QuotaWindow[] = [];
  const policies = new Map(items(headers.get(HEADERS.rateLimitPolicy)));
  for (const [name, { r, t }] of items(headers.get(HEADERS.rateLimit))) {
    if (r === undefined || t === undefined) continue;
    const { q, w } = policies.get(name) ?? {};
    const windowMs = w === undefined ? undefined : w * 1000;
    windows.push({ name, remaining: r, resetMs: t * 1000, quota: q, windowMs });
  }
  return windows;
}

function items(value: string | null): [name: string, parameters: Record<string, number>][] {
  return [...(value ?? '').matchAll(ITEM)].map(([, name = '', parameters = '']) => [
    name,
    Object.fromEntries(
      [...parameters.matchAll(PARAMETER)].map(([, key = '', digits]) => [key, Number(digits)]),
    ),
  ]);
}

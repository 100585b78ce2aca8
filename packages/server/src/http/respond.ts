import { HEADERS } from '@shortlink/sdk/wire';
import { createMiddleware } from 'hono/factory';
import type { AppEnv, Connection } from './context.ts';

/** By name. Each is always written in the same way, so that a later value replaces an earlier one. */
export type ResponseHeaders = Record<string, string>;

export interface HeaderContext {
  env?: Connection;
  get(name: 'responseHeaders'): ResponseHeaders;
}

/** Puts a header on the response that {@link respond} will make. Filling and reading a `Headers` object, as Hono does, costs more than all the rest of a redirect. */
export function setHeader(c: HeaderContext, name: string, value: string): void {
  c.get('responseHeaders')[name] = value;
}

export function respond(
  c: HeaderContext,
  body: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | null,
  status: number,
  headers?: Readonly<ResponseHeaders>,
): Response {
  const secured = body === null ? undefined : SECURITY_HEADERS;
  const all = { ...secured, ...c.get('responseHeaders'), ...headers };
  return new Response(body, { status, headers: all });
}

export function respondJson(
  c: HeaderContext,
  value: object,
  status = 200,
  headers?: Readonly<ResponseHeaders>,
): Response {
  setHeader(c, 'Content-Type', 'application/json');
  return respond(c, JSON.stringify(value), status, headers);
}

/** For every response with a body: never sniffed, never framed, nothing loaded by it. The site of a redirect decides about the referrer. */
export const SECURITY_HEADERS: Readonly<ResponseHeaders> = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

/** Lets pages of any origin call the API with a key: the key is a header of its own, so no cookie is at stake. */
const CORS_HEADERS: Readonly<ResponseHeaders> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': [
    HEADERS.retryAfter,
    HEADERS.rateLimit,
    HEADERS.rateLimitPolicy,
    HEADERS.requestId,
    'Location',
  ].join(','),
};

const PREFLIGHT_HEADERS: Readonly<ResponseHeaders> = {
  ...CORS_HEADERS,
  'Access-Control-Allow-Methods': 'GET,HEAD,POST',
  'Access-Control-Allow-Headers': [HEADERS.apiKey, 'Content-Type', HEADERS.idempotencyKey].join(),
  // Chromium caps it at two hours.
  'Access-Control-Max-Age': '7200',
  Vary: 'Access-Control-Request-Headers',
};

/** API responses are private data: never stored by a cache. */
const API_HEADERS: Readonly<ResponseHeaders> = { ...CORS_HEADERS, 'Cache-Control': 'no-store' };

/** Responds to the preflight of a browser (Fetch standard, CORS protocol), and puts on other responses what they all have. */
export function apiHeaders() {
  return createMiddleware<AppEnv>(async (c, next) => {
    if (c.req.method === 'OPTIONS') return respond(c, null, 204, PREFLIGHT_HEADERS);
    Object.assign(c.get('responseHeaders'), API_HEADERS);
    return next();
  });
}

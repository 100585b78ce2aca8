import { HEADERS } from '@shortlink/sdk/wire';
import { cors } from 'hono/cors';
import { createMiddleware } from 'hono/factory';

/** How long a browser may remember a preflight, in seconds; Chromium caps it at two hours. */
const PREFLIGHT_MAX_AGE_S = 7_200;

/** Lets pages of any origin call the API with a key: the key is a header of its own, so no cookie is at stake. */
export function apiCors() {
  return cors({
    origin: '*',
    allowMethods: ['GET', 'HEAD', 'POST'],
    allowHeaders: [HEADERS.apiKey, 'Content-Type', HEADERS.idempotencyKey],
    exposeHeaders: [
      HEADERS.retryAfter,
      HEADERS.rateLimit,
      HEADERS.rateLimitPolicy,
      HEADERS.requestId,
      'Location',
    ],
    maxAge: PREFLIGHT_MAX_AGE_S,
  });
}

/** API answers are private data: never stored by a cache. */
export function noStore() {
  return createMiddleware(async (c, next) => {
    c.header('Cache-Control', 'no-store');
    await next();
  });
}

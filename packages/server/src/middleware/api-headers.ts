import { HEADERS } from '@shortlink/sdk/wire';
import { createMiddleware } from 'hono/factory';
import { type AnswerHeaders, answer, setHeaders } from './answer.ts';
import type { AppEnv } from './env.ts';
import { SECURITY_HEADERS } from './security-headers.ts';

/** How long a browser may remember a preflight, in seconds; Chromium caps it at two hours. */
const PREFLIGHT_MAX_AGE_S = 7_200;

/** Lets pages of any origin call the API with a key: the key is a header of its own, so no cookie is at stake. */
const CORS_HEADERS: Readonly<AnswerHeaders> = {
  'Access-Control-Allow-Origin': '*',
  'Access-Control-Expose-Headers': [
    HEADERS.retryAfter,
    HEADERS.rateLimit,
    HEADERS.rateLimitPolicy,
    HEADERS.requestId,
    'Location',
  ].join(','),
};

const PREFLIGHT_HEADERS: Readonly<AnswerHeaders> = {
  ...CORS_HEADERS,
  'Access-Control-Allow-Methods': 'GET,HEAD,POST',
  'Access-Control-Allow-Headers': [HEADERS.apiKey, 'Content-Type', HEADERS.idempotencyKey].join(),
  'Access-Control-Max-Age': String(PREFLIGHT_MAX_AGE_S),
  Vary: 'Access-Control-Request-Headers',
};

/** API answers are private data: never stored by a cache. */
const API_HEADERS: Readonly<AnswerHeaders> = {
  ...CORS_HEADERS,
  ...SECURITY_HEADERS,
  'Cache-Control': 'no-store',
};

/** Puts on each answer of the API what they all have, and answers the preflight of a browser (Fetch standard, CORS protocol). */
export function apiHeaders() {
  return createMiddleware<AppEnv>(async (c, next) => {
    if (c.req.method === 'OPTIONS') return answer(c, null, 204, PREFLIGHT_HEADERS);
    setHeaders(c, API_HEADERS);
    return next();
  });
}

import { createMiddleware } from 'hono/factory';
import { type AnswerHeaders, setHeaders } from './answer.ts';
import type { AppEnv } from './env.ts';

/**
 * For every answer that has a body: never sniffed as something else, never framed, nothing loaded by it. A redirect has no body
 * to protect, and its own site decides about the referrer, as with a plain link.
 */
export const SECURITY_HEADERS: Readonly<AnswerHeaders> = {
  'X-Content-Type-Options': 'nosniff',
  'Content-Security-Policy': "default-src 'none'; frame-ancestors 'none'",
  'Referrer-Policy': 'no-referrer',
};

/** Puts them on all answers of a route. */
export function securityHeaders() {
  return createMiddleware<AppEnv>(async (c, next) => {
    setHeaders(c, SECURITY_HEADERS);
    await next();
  });
}

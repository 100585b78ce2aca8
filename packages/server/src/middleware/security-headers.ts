import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';

/**
 * For every answer that has a body: never sniffed as something else, never framed, nothing loaded by it. A redirect has no body
 * to protect, and its own site decides about the referrer, as with a plain link.
 */
export function setSecurityHeaders(c: Pick<Context, 'header'>): void {
  c.header('X-Content-Type-Options', 'nosniff');
  c.header('Content-Security-Policy', "default-src 'none'; frame-ancestors 'none'");
  c.header('Referrer-Policy', 'no-referrer');
}

/** The same for all answers of a route. */
export function securityHeaders() {
  return createMiddleware(async (c, next) => {
    setSecurityHeaders(c);
    await next();
  });
}

import type { Context } from 'hono';
import { buildPage, type Page } from '../analytics/build-page.ts';
import { answer } from '../middleware/answer.ts';
import type { AppEnv } from '../middleware/env.ts';

/** `GET /analytics` (addition): the page is the same for everyone; what it shows comes with the visitor's key. */
export function analytics() {
  let page: Page | undefined;
  return (c: Context<AppEnv>): Response => {
    page ??= buildPage();
    return answer(c, page.html, 200, {
      'Content-Type': 'text/html; charset=UTF-8',
      'Content-Security-Policy': page.contentSecurityPolicy,
      'Cache-Control': 'no-cache',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
      'X-Frame-Options': 'DENY',
    });
  };
}

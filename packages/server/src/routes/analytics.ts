import type { Context } from 'hono';
import { buildPage, type Page } from '../analytics/build-page.ts';
import { notFound } from '../domain/problem.ts';
import { answer } from '../middleware/answer.ts';
import type { AppEnv } from '../middleware/env.ts';

/**
 * `GET /analytics` and the files of that page. It is the same for everyone: what it shows comes with the visitor's key.
 */
export function analytics() {
  let page: Page | undefined;
  return (c: Context<AppEnv>): Response => {
    page ??= buildPage();
    const name = c.req.param('file');
    const file =
      name === undefined
        ? { type: 'text/html; charset=UTF-8', body: page.html }
        : page.files.get(name);
    if (file === undefined) throw notFound('Path');
    return answer(c, file.body, 200, {
      'Content-Type': file.type,
      'Content-Security-Policy': page.contentSecurityPolicy,
      'Cache-Control': 'no-cache',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
      'X-Frame-Options': 'DENY',
    });
  };
}

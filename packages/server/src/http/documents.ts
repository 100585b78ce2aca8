import type { Context } from 'hono';
import { buildPage, type Page } from '../analytics/build-page.ts';
import { notFound } from '../domain/problem.ts';
import { openApiDocument } from '../openapi/document.ts';
import type { AppEnv } from './context.ts';
import { respond } from './respond.ts';

/**
 * `GET /openapi.json`: made once, when first asked for. Bytes, because responses that wait for their clients share bytes, but each
 * would make its own copy of a text.
 */
export function openApi(publicUrl: string) {
  let bytes: Uint8Array<ArrayBuffer> | undefined;
  return (c: Context<AppEnv>): Response => {
    bytes ??= new TextEncoder().encode(JSON.stringify(openApiDocument(publicUrl)));
    return respond(c, bytes, 200, {
      'Access-Control-Allow-Origin': '*',
      'Cache-Control': 'public, max-age=300',
      'Content-Type': 'application/json',
    });
  };
}

/**
 * `GET /analytics` and the files of that page. It is the same for everyone: what it shows comes with the visitor's key.
 */
export function analytics() {
  let page: Page | undefined;
  return (c: Context<AppEnv>): Response => {
    page ??= buildPage();
    const file = page.files.get(c.req.param('file') ?? 'analytics.html');
    if (file === undefined) throw notFound('Path');
    return respond(c, file.body, 200, {
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

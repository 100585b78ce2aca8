import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Context } from 'hono';
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
  let page: ReturnType<typeof readPage> | undefined;
  return (c: Context<AppEnv>): Response => {
    page ??= readPage();
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

/** Run from source, the page's files are in a folder of their own; in a build they stand beside the bundle. */
const FOLDER = new URL(
  import.meta.url.endsWith('.ts') ? '../analytics/page/' : './',
  import.meta.url,
);

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=UTF-8',
  html: 'text/html; charset=UTF-8',
  js: 'text/javascript; charset=UTF-8',
};

/** The files of the usage page by name, as bytes. Their policy lets the page load its own files and ask this service, and nothing else. */
function readPage() {
  const own = [
    'analytics.html',
    'analytics.css',
    'analytics.js',
    'charts.js',
    'keys.js',
    'words.js',
  ];
  const uPlot = createRequire(import.meta.url).resolve('uplot/dist/uPlot.iife.min.js');
  const paths = new Map<string, URL | string>([
    ...own.map((name) => [name, new URL(name, FOLDER)] as const),
    ['uplot.js', uPlot],
    ['uplot.css', uPlot.replace('.iife.min.js', '.min.css')],
  ]);
  const files = new Map<string, { type: string; body: Uint8Array<ArrayBuffer> }>();
  for (const [name, path] of paths) {
    const type = TYPES[name.split('.')[1] ?? ''] ?? '';
    files.set(name, { type, body: new Uint8Array(readFileSync(path)) });
  }
  return {
    files,
    contentSecurityPolicy: [
      "default-src 'none'",
      "style-src 'self'",
      "script-src 'self'",
      "connect-src 'self'",
      'img-src data:',
      "base-uri 'none'",
      "form-action 'none'",
      "frame-ancestors 'none'",
    ].join('; '),
  };
}

import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { Context } from 'hono';
import description from '../../api/openapi.json' with { type: 'json' };
import { notFound } from '../domain/problem.ts';
import { type AppEnv, type AppOptions, respond } from './context.ts';

/** `GET /openapi.json`. Bytes, because responses that wait for their clients share them, where each would copy a text. */
export function openApi({ publicUrl }: AppOptions) {
  let bytes: Uint8Array<ArrayBuffer> | undefined;
  return (c: Context<AppEnv>): Response => {
    const document = { ...description, servers: [{ url: publicUrl }] };
    bytes ??= new TextEncoder().encode(JSON.stringify(document));
    return respond(c, bytes, 200, {
      'Access-Control-Allow-Origin': '*',
      'Cache-Control': 'public, max-age=300',
      'Content-Type': 'application/json',
    });
  };
}

/** `GET /analytics` and its files: the same for everyone, since what the page shows comes with the visitor's key. */
export function analytics() {
  let files: Map<string, Uint8Array<ArrayBuffer>> | undefined;
  return (c: Context<AppEnv>): Response => {
    const name = c.req.param('file') ?? 'analytics.html';
    files ??= new Map(filesOfPage().map(([file, at]) => [file, new Uint8Array(readFileSync(at))]));
    const body = files.get(name);
    if (body === undefined) throw notFound('Path');
    return respond(c, body, 200, {
      'Content-Type': TYPES[name.split('.')[1] ?? ''] ?? '',
      'Content-Security-Policy': PAGE_POLICY,
      'Cache-Control': 'no-cache',
      'Cross-Origin-Opener-Policy': 'same-origin',
      'Cross-Origin-Resource-Policy': 'same-origin',
      'Permissions-Policy': 'camera=(), geolocation=(), microphone=()',
      'X-Frame-Options': 'DENY',
    });
  };
}

const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const TYPES: Readonly<Record<string, string>> = {
  css: 'text/css; charset=UTF-8',
  html: 'text/html; charset=UTF-8',
  js: 'text/javascript; charset=UTF-8',
};

/** Where the files of the usage page are, by name. Run from source, they are in a folder of their own; in a build they stand beside the bundle. */
function filesOfPage(): [name: string, at: URL | string][] {
  const folder = import.meta.url.endsWith('.ts') ? '../analytics/page/' : './';
  const own = ['html', 'css', 'js'].map((ending) => `analytics.${ending}`);
  const names = [...own, 'panels.js', 'charts.js', 'keys.js', 'words.js', 'html.js'];
  const { resolve } = createRequire(import.meta.url);
  return [
    ...names.map((name): [string, URL] => [name, new URL(folder + name, import.meta.url)]),
    ['preact.js', resolve('preact')],
    ['htm.js', resolve('htm').replace(/\.js$/, '.mjs')],
  ];
}

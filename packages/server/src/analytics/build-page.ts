import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';

/** Run from source, the page's files are in a folder of their own; in a build they stand beside the bundle. */
const FOLDER = new URL(import.meta.url.endsWith('.ts') ? './page/' : './', import.meta.url);

const TYPES = { css: 'text/css; charset=UTF-8', js: 'text/javascript; charset=UTF-8' };

/** One of the files that the page is made of. */
export interface PageFile {
  type: string;
  body: string;
}

/** The usage page, the files it loads by name, and the policy that all of it is served with. */
export interface Page {
  html: string;
  files: ReadonlyMap<string, PageFile>;
  contentSecurityPolicy: string;
}

/** Reads the page. Its policy lets it load its own files and ask this service, and nothing else. */
export function buildPage(): Page {
  const own = ['analytics.css', 'analytics.js', 'charts.js', 'keys.js', 'words.js'];
  const uPlot = createRequire(import.meta.url).resolve('uplot/dist/uPlot.iife.min.js');
  const paths = new Map<string, URL | string>([
    ...own.map((name) => [name, new URL(name, FOLDER)] as const),
    ['uplot.js', uPlot],
    ['uplot.css', uPlot.replace('.iife.min.js', '.min.css')],
  ]);
  const files = new Map<string, PageFile>();
  for (const [name, path] of paths) {
    const type = name.endsWith('.css') ? TYPES.css : TYPES.js;
    files.set(name, { type, body: readFileSync(path, 'utf8') });
  }
  return {
    html: readFileSync(new URL('analytics.html', FOLDER), 'utf8'),
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

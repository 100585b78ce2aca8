import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';

/** Run from source, the page's files are in a folder of their own; in a build they stand beside the bundle. */
const FOLDER = new URL(import.meta.url.endsWith('.ts') ? './page/' : './', import.meta.url);

/** A page and the policy it is served with. */
export interface Page {
  html: string;
  contentSecurityPolicy: string;
}

/**
 * Puts style and scripts into the analytics page, so that one response is all of it. The policy names them by their hashes:
 * nothing else can run on the page, and it can talk to this service only.
 */
export function buildPage(): Page {
  const style = read('analytics.css');
  const drawing = read('drawing.js');
  const script = read('analytics.js');
  const html = read('analytics.html')
    .replace('/*{style}*/', () => style)
    .replace('/*{drawing}*/', () => drawing)
    .replace('/*{script}*/', () => script);
  const contentSecurityPolicy = [
    "default-src 'none'",
    `style-src '${hash(style)}'`,
    `script-src '${hash(drawing)}' '${hash(script)}'`,
    "connect-src 'self'",
    'img-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
  return { html, contentSecurityPolicy };
}

function read(name: string): string {
  return readFileSync(new URL(name, FOLDER), 'utf8');
}

/** CSP level 3, section 2.3.1. */
function hash(text: string): string {
  return `sha256-${createHash('sha256').update(text).digest('base64')}`;
}

import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { httpAddress } from '../stage/addresses.ts';
import { bundleEntry } from './bundle-entry.ts';
import { launchChromium } from './launch-chromium.ts';
import type { Runtime } from './runtime.ts';

/** SQLite for a service in the page. */
export const WASM = fileURLToPath(import.meta.resolve('@shortlink/server/browser/sqlite3.wasm'));

/** A strict Content Security Policy: no inline script, no eval, and only the addresses of the test. */
const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; connect-src http://127.0.0.1:*",
};
const PAGE = '<!doctype html><title>suite</title><script type="module" src="/page.js"></script>';

export const chromium: Runtime = {
  name: 'Chromium',
  packageName: '@sparticuz/chromium',
  tellsNotSent: false,
  repeatsLostPosts: true,
  run: (stageUrl, signal) => runInPage('page', stageUrl, signal),
};

/** The page is its own service: nothing of it is lost on the way. */
export const chromiumPage: Runtime = {
  ...chromium,
  name: 'Chromium, with `startPageService`',
  repeatsLostPosts: false,
  run: (stageUrl, signal) => runInPage('page-service', stageUrl, signal),
};

async function runInPage(entry: 'page' | 'page-service', stageUrl: string, signal: AbortSignal) {
  await using pages = await servePage(await bundleEntry(entry, ['browser']));
  await using launched = await launchChromium();
  const { browser } = launched;
  signal.addEventListener('abort', () => void browser.close(), { once: true });
  const page = await browser.newPage();
  let apiKeys: string[] = [];
  const output: string[] = [];
  page.on('console', (message) => output.push(message.text()));
  page.on('pageerror', (error) => output.push(String(error)));
  try {
    await page.goto(`${pages.url}/?stage=${encodeURIComponent(stageUrl)}`);
    // The page's script has stored its promise there; `evaluate` waits for it.
    apiKeys = (await page.evaluate<string[] | undefined>('suite')) ?? [];
  } catch (error) {
    throw new Error(`${error}:\n${output.join('\n')}`, { cause: error });
  }
  return { version: browser.version(), output: output.join('\n'), apiKeys };
}

/** Serves a page that runs this script under a strict Content Security Policy. */
export async function servePage(script: string): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    if (request.url === '/page.js') {
      response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(script);
    } else if (request.url === '/sqlite3.wasm') {
      response.writeHead(200, { 'Content-Type': 'application/wasm' }).end(readFileSync(WASM));
    } else if (request.url === '/' || request.url?.startsWith('/?')) {
      response.writeHead(200, PAGE_HEADERS).end(PAGE);
    } else {
      response.writeHead(404).end();
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: httpAddress(server),
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

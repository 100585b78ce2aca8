import { once } from 'node:events';
import { createServer } from 'node:http';
import { httpAddress } from '../stage/addresses.ts';
import { bundleEntry } from './bundle-entry.ts';
import { launchChromium } from './launch-chromium.ts';
import type { Runtime } from './runtime.ts';

/** A strict Content Security Policy: no inline script, no eval, and only the addresses of the test. */
const PAGE_HEADERS = {
  'Content-Type': 'text/html; charset=utf-8',
  'Content-Security-Policy':
    "default-src 'none'; script-src 'self'; connect-src http://127.0.0.1:*",
};
const PAGE = '<!doctype html><title>suite</title><script type="module" src="/page.js"></script>';

export const chromium: Runtime = {
  name: 'Chromium',
  packageName: '@sparticuz/chromium',
  tellsNotSent: false,
  repeatsLostPosts: true,
  async run(stageUrl, signal) {
    await using pages = await servePage(await bundleEntry('page', ['browser']));
    await using launched = await launchChromium();
    const { browser } = launched;
    signal.addEventListener('abort', () => void browser.close(), { once: true });
    const page = await browser.newPage();
    const output: string[] = [];
    page.on('console', (message) => output.push(message.text()));
    page.on('pageerror', (error) => output.push(String(error)));
    try {
      await page.goto(`${pages.url}/?stage=${encodeURIComponent(stageUrl)}`);
      // The page's script has stored its promise there; `evaluate` waits for it.
      await page.evaluate('suite');
    } catch (error) {
      throw new Error(`${error}:\n${output.join('\n')}`, { cause: error });
    }
    return { version: browser.version(), output: output.join('\n') };
  },
};

/** Serves a page that runs this script under a strict Content Security Policy. */
export async function servePage(script: string): Promise<{ url: string } & AsyncDisposable> {
  const server = createServer((request, response) => {
    if (request.url === '/page.js') {
      response.writeHead(200, { 'Content-Type': 'text/javascript' }).end(script);
    } else if (request.url?.startsWith('/?')) {
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

import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import type { Plugin } from 'esbuild';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { forPage } from '../../server/browser.config.ts';
import { bundleEntry, bundleModule } from '../runtimes/drivers/bundle-entry.ts';
import { servePage, WASM } from '../runtimes/drivers/chromium.ts';
import { launchChromium } from '../runtimes/drivers/launch-chromium.ts';
import { startWorkerd } from '../runtimes/drivers/start-workerd.ts';
import { isNight } from '../src/is-night.ts';

const BROWSER = fileURLToPath(import.meta.resolve('@shortlink/server/browser'));
const pathOf = (path: string) => fileURLToPath(new URL(path, import.meta.url));

describe('the size of the service in a page', async () => {
  const sizes = await Promise.all(
    [BROWSER, WASM].map(async (path) => gzipSync(await readFile(path), { level: 9 }).length),
  );
  const kb = sizes.reduce((sum, bytes) => sum + bytes, 0) / 1_000;

  it('is at most 420 KB, SQLite included', () => {
    console.log(`service in a page: ${kb.toFixed(1)} KB`);
    expect(kb).toBeLessThanOrEqual(420);
  });

  it('is what the page about tests says', async () => {
    const page = await readFile(pathOf('../../docs/sdk/testing.md'), 'utf8');
    expect(/loads about (\d+) KB for it/.exec(page)?.[1]).toBe(`${Math.round(kb / 10)}0`);
  });
});

const wasmBesideWorker: Plugin = {
  name: 'wasm',
  setup: ({ onResolve }) =>
    onResolve({ filter: /\.wasm$/ }, () => ({ path: './sqlite3.wasm', external: true })),
};

/** The tests that every engine of the store passes, for a runtime without vitest. */
const contractFor = (entry: 'page' | 'worker') =>
  bundleModule(pathOf(`../runtimes/contract/${entry}.ts`), ['browser'], {
    ...forPage,
    plugins: [...forPage.plugins, wasmBesideWorker],
    platform: 'browser',
    alias: { vitest: pathOf('../runtimes/contract/vitest.ts') },
  });

interface Result {
  name: string;
  failure?: string;
}

function expectAllPassed(results: readonly Result[], least = 90) {
  expect(results.filter(({ failure }) => failure !== undefined)).toEqual([]);
  expect(results.length).toBeGreaterThan(least);
}

describe("the store's contract holds on SQLite as WebAssembly", () => {
  it('in Chromium', async () => {
    await using pages = await servePage(await contractFor('page'));
    await using launched = await launchChromium();
    const page = await launched.browser.newPage();
    await page.goto(pages.url);
    expectAllPassed(await page.evaluate<Result[]>('contract'));
  });

  it('in workerd', async () => {
    await using worker = await startWorkerd(await contractFor('worker'), {}, WASM);
    // The SQL is the same as in Chromium. Each night all groups.
    const query = isNight ? '' : '?group=idempotency&group=jobs&group=look-ups';
    const response = await fetch(worker.url + query);
    expect(response.status, worker.output()).toBe(200);
    expectAllPassed(JSON.parse(await response.text()), isNight ? 90 : 20);
  });
});

describe('in a page', () => {
  const cleanup = new AsyncDisposableStack();
  let open: () => Promise<Page>;
  beforeAll(async () => {
    const pages = cleanup.use(await servePage(await bundleEntry('page-uses', ['browser'])));
    const { browser } = cleanup.use(await launchChromium());
    // Files that a page keeps are seen by the pages of its context.
    const context = await browser.newContext();
    open = async () => {
      const page = await context.newPage();
      await page.goto(pages.url);
      return page;
    };
  });
  afterAll(() => cleanup.disposeAsync());

  it('the first link takes less than a second of the page', async () => {
    const page = await open();
    const session = await page.context().newCDPSession(page);
    await session.send('Performance.enable');
    // Processor time of the page's process: others of a busy machine do not count.
    const used = async () => {
      const { metrics } = await session.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'ProcessTime')?.value ?? Number.NaN;
    };
    const before = await used();
    const elapsedMs = await page.evaluate<number>('uses.firstLink()');
    const seconds = (await used()) - before;
    console.log(`the first link: ${seconds.toFixed(2)} s of the page, ${elapsedMs} ms in all`);
    expect(seconds).toBeGreaterThan(0);
    expect(seconds).toBeLessThan(1);
  });

  it('links are kept for the next page, and no two pages write at once', async () => {
    const first = await open();
    expect(await first.evaluate('uses.keep()')).toBe(
      'Error: The database "kept" is open already, in this page or another one.',
    );
    const second = await open();
    await expect(second.evaluate('uses.find()')).rejects.toThrow('is open already, in this page');
    // As when a tab is closed, or crashes.
    await first.close();
    const find = () => second.evaluate('uses.find()').catch(String);
    await expect.poll(find).toEqual([1, 200]);
  });

  it('faults happen as on a server', async () => {
    const page = await open();
    expect(await page.evaluate('uses.faults()')).toEqual([
      expect.stringMatching(/^ConnectionError: .*may/),
      2,
    ]);
  });
});

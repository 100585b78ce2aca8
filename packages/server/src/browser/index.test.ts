import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { beforeEach, expect, test, vi } from 'vitest';
import { type PageServiceOptions, startPageService } from './index.ts';

const require = createRequire(import.meta.url);
const wasm = new Uint8Array(await readFile(require.resolve('sql.js/dist/sql-wasm.wasm')));

/** A page's private file system with one file, which may be full, and its locks. */
let content: Uint8Array<ArrayBuffer>;
let isFull: boolean;
let writes: number;

beforeEach(() => {
  content = new Uint8Array();
  isFull = false;
  writes = 0;
  const createWritable = async () => ({
    write: async (bytes: Uint8Array<ArrayBuffer>) => {
      if (isFull) throw new Error('The disk is full.');
      content = bytes;
      writes += 1;
    },
    close: async () => undefined,
  });
  const file = { createWritable, getFile: async () => new Blob([content]) };
  const storage = { getDirectory: async () => ({ getFileHandle: async () => file }) };
  vi.stubGlobal('navigator', { storage, locks: navigator.locks });
});

const start = (options?: PageServiceOptions) =>
  startPageService({ database: 'kept', wasm, ...options });

test('a page that could not start, or could not save at its end, leaves its database to the next', async () => {
  await expect(start({ plan: 'Pro' as never })).rejects.toThrow('There is no plan Pro');
  const page = await start();
  await expect(start()).rejects.toThrow('is open already, in this page or another one.');
  isFull = true;
  await expect(page.fetch(page.url)).rejects.toThrow('The disk is full.');
  await expect(page.close()).rejects.toThrow('The disk is full.');
  isFull = false;
  await (await start()).close();
  content = new Uint8Array([1, 2, 3]);
  await expect(start()).rejects.toThrow('not a database');
  content = new Uint8Array();
  await (await start()).close();
});

test('writes the file after each request that changed something, and after one that could not be saved', async () => {
  const page = await start();
  const create = () => {
    const body = JSON.stringify({ target_url: 'https://example.com' });
    const headers = { 'X-Api-Key': page.apiKey, 'Content-Type': 'application/json' };
    return page.fetch(`${page.url}/api/v1/links`, { method: 'POST', headers, body });
  };
  const writesOf = async (work: () => Promise<unknown>) => {
    const before = writes;
    await work();
    return writes - before;
  };
  const look = () => page.fetch(`${page.url}/healthz`);
  expect(await writesOf(create)).toBe(1);
  expect(await writesOf(look)).toBe(0);
  isFull = true;
  await expect(create()).rejects.toThrow('The disk is full.');
  isFull = false;
  expect(await writesOf(look)).toBe(1);
  expect(await writesOf(create)).toBe(1);
  await page.close();
});

test('a kept database has the plan of the page that opens it next, and the key of that page only', async () => {
  const first = await start({ plan: 'pro', limits: { links: 7 } });
  await first.close();
  await using next = await start({ plan: 'community' });
  const usageFor = (apiKey: string) =>
    next.fetch(`${next.url}/api/v1/usage`, { headers: { 'X-Api-Key': apiKey } });
  expect((await usageFor(first.apiKey)).status).toBe(401);
  expect(await (await usageFor(next.apiKey)).json()).toMatchObject({
    plan: 'community',
    links: { limit: 15 },
  });
});

test.each([
  ['in memory', undefined],
  ['with a file', 'kept'],
])('a service %s that has ended responds that it can not be used', async (_, database) => {
  const page = await start({ database });
  await page.close();
  const headers = { 'X-Api-Key': page.apiKey };
  const response = await page.fetch(`${page.url}/api/v1/usage`, { headers });
  expect(response.status).toBe(503);
});

test('the clock of the page is the one by which the service counts requests', async () => {
  await using page = await start({ limits: { requests_per_minute: 1 } });
  const headers = { 'X-Api-Key': page.apiKey };
  const ask = async () => (await page.fetch(`${page.url}/api/v1/jobs/x`, { headers })).status;
  expect([await ask(), await ask()]).toEqual([404, 429]);
  page.clock.advance(60_000);
  expect(await ask()).toBe(404);
});

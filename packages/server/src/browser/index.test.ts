import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { beforeEach, expect, test, vi } from 'vitest';
import { type PageServiceOptions, startPageService } from './index.ts';

const require = createRequire(import.meta.url);
const wasm = new Uint8Array(await readFile(require.resolve('sql.js/dist/sql-wasm.wasm')));

/** A page's private file system with one file, which may be full, and its locks. */
let content: Uint8Array<ArrayBuffer>;
let isFull: boolean;

beforeEach(() => {
  content = new Uint8Array();
  isFull = false;
  const createWritable = async () => ({
    write: async (bytes: Uint8Array<ArrayBuffer>) => {
      if (isFull) throw new Error('The disk is full.');
      content = bytes;
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

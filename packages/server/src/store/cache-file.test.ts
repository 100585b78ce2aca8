import { execFileSync } from 'node:child_process';
import {
  lstat,
  mkdtemp,
  readdir,
  readFile,
  rm,
  stat,
  symlink,
  truncate,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createService } from '../service.ts';
import { cacheFile } from './cache-file.ts';
import { NOW, newCaller, newLink, PUBLIC_URL } from './contract/fixtures.test-suite.ts';
import { type CachedLink, OUTAGE_MAX_AGE_MS } from './redirect-cache.ts';
import { openSqliteStore } from './sqlite/index.ts';
import type { Redirect } from './store.ts';

let folder: string;
let path: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shortlink-cache-'));
  path = join(folder, 'links');
});
afterEach(() => rm(folder, { recursive: true }));

const link: Redirect = {
  target_url: 'https://example.com/',
  redirect_type: 302,
  is_active: true,
  hostname: null,
  owners: ['acc_1'],
};
const LINKS: CachedLink[] = [['Xk3pQ9z', link]];
const KEPT: CachedLink[] = [['Xk3pQ9z', link, NOW]];

function newFile({ database = 'a', now = NOW, at = path } = {}) {
  const logged: string[] = [];
  const log = (_: object | string, words?: string) => logged.push(words ?? String(_));
  const logger = { info: log, warn: log };
  return Object.assign(cacheFile({ path: at, database, logger, now: () => now }), { logged });
}

test('links are kept for the time for which they are served without the database, and only for the same one', async () => {
  newFile().write(LINKS);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
  expect(newFile().read()).toEqual(KEPT);
  expect(newFile({ now: NOW + OUTAGE_MAX_AGE_MS - 1 }).read()).toEqual(KEPT);
  for (const other of [
    { database: 'b' },
    { now: NOW + OUTAGE_MAX_AGE_MS },
    { now: NOW - OUTAGE_MAX_AGE_MS },
  ]) {
    const file = newFile(other);
    expect(file.read()).toEqual([]);
    expect(file.logged).toEqual([]);
  }
});

test('a damaged file is ignored, with a line in the log, and a missing one without', async () => {
  expect(newFile().read()).toEqual([]);
  newFile().write(LINKS);
  const whole = await readFile(path, 'utf8');
  const damages = [
    () => truncate(path, whole.length - 1),
    () => truncate(path, 0),
    () => truncate(path, 65 * 1024 * 1024),
    () => writeFile(path, whole.replace('example.com', 'example.org')),
    () => writeFile(path, `${whole.slice(0, 80)}${'x'.repeat(1_000)}`),
  ];
  for (const damage of damages) {
    await damage();
    const file = newFile();
    expect(file.read()).toEqual([]);
    expect(file.logged).toEqual(['the file of links in memory is ignored']);
  }
  newFile().write(LINKS);
  expect(newFile().read()).toEqual(KEPT);
});

test('a file that is something else, such as the database, is never replaced', async () => {
  for (const other of ['SQLite format 3\0', 'a'.repeat(64), `${'a'.repeat(64)}\n{"other":1}`]) {
    await writeFile(path, other);
    const file = newFile();
    expect(file.read()).toEqual([]);
    file.write(LINKS);
    expect(await readFile(path, 'utf8')).toBe(other);
    expect(file.logged).toEqual([
      'the file of links in memory is ignored',
      'the links in memory are not kept',
    ]);
  }
});

test('restarts in a row do not make a link younger', () => {
  const kept = newFile();
  kept.write(LINKS);
  const later = NOW + OUTAGE_MAX_AGE_MS - 1;
  newFile({ now: later }).write(newFile({ now: later }).read());
  expect(newFile({ now: later }).read()).toHaveLength(1);
  expect(newFile({ now: later + 1 }).read()).toEqual([]);
});

test('a full disk leaves no part of the file, and the file that was there', async () => {
  newFile().write(LINKS);
  await symlink('/dev/full', `${path}.part`);
  const file = newFile();
  file.write([]);
  expect(file.logged).toEqual(['the links in memory are not kept']);
  expect(await readdir(folder)).toEqual(['links']);
  expect(newFile().read()).toHaveLength(1);
});

test('a folder that can not be written stops nothing', () => {
  const file = newFile({ at: join(folder, 'none', 'links') });
  expect(file.read()).toEqual([]);
  file.write(LINKS);
  expect(file.logged).toEqual([
    'the file of links in memory is ignored',
    'the links in memory are not kept',
  ]);
});

test.each(['pipe', 'link to a pipe', 'folder'])('a %s stays what it is', async (kind) => {
  const pipe = join(folder, 'pipe');
  execFileSync('sh', ['-c', 'mkfifo "$0"', pipe]);
  const at = kind === 'folder' ? folder : kind === 'pipe' ? pipe : path;
  await symlink(pipe, path);
  const before = await readdir(folder);
  const file = newFile({ at });
  // Without anybody who writes into a pipe, reading it would take for ever.
  expect(file.read()).toEqual([]);
  file.write(LINKS);
  expect(file.logged).toHaveLength(2);
  expect((await stat(pipe)).isFIFO()).toBe(true);
  expect((await lstat(path)).isSymbolicLink()).toBe(true);
  expect(await readdir(folder)).toEqual(before);
});

test('a service that starts again redirects what it knew when the database fails', async () => {
  const store = await openSqliteStore({ path: ':memory:', publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  const outcome = await store.createLink({ caller, input: newLink(), now: NOW });
  if (!outcome.ok) throw new Error(outcome.reason);
  const follow = (service: ReturnType<typeof createService>) =>
    service.fetch(new Request(outcome.value.short_url));
  const cacheFile = newFile();
  const first = createService({ store, publicUrl: PUBLIC_URL, cacheFile });
  await first.start();
  expect((await follow(first)).status).toBe(302);
  await first.stop();
  const failed = createService({ store, publicUrl: PUBLIC_URL, cacheFile });
  await failed.stop();
  // Two restarts in a row: nobody followed the link in this one.
  const between = createService({ store, publicUrl: PUBLIC_URL, cacheFile });
  await between.start();
  await between.stop();
  const second = createService({ store, publicUrl: PUBLIC_URL, cacheFile });
  await second.start();
  Object.assign(store, { findRedirect: () => Promise.reject(new Error('down')) });
  expect((await follow(second)).status).toBe(302);
  await second.stop();
  await store.close();
});

import { existsSync, rmSync } from 'node:fs';
import { chmod, open, rename, rm, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PLAN_LIMITS } from '@shortlink/sdk/wire';
import { expect, test, vi } from 'vitest';
import { generateCode } from '../../domain/ids.ts';
import { NOW, newCaller, newLink, newLinks, PUBLIC_URL } from '../contract/fixtures.test-suite.ts';
import { sqlText } from '../queries/reading.ts';
import { Database } from './database.ts';
import { openSqliteStore } from './index.ts';
import { migrate, migrations } from './migrate.ts';
import { watchPlace } from './open-file.ts';
import { useDatabasePath } from './temp-database.test-suite.ts';
import { WriteCore, type WriteReply } from './write-core.ts';

const path = useDatabasePath();
const openStore = (file = path()) =>
  openSqliteStore({ path: file, publicUrl: PUBLIC_URL, busyTimeoutMs: 50 });

test('a directory that does not exist is named', async () => {
  const file = join(dirname(path()), 'nowhere', 'shortlink.db');
  await expect(openStore(file)).rejects.toMatchObject({
    name: 'StoreError',
    reason: 'unavailable',
    message: `The database ${file} can not be opened: it must be a readable file in a writable folder.`,
  });
});

test('a file that is no database is refused', async () => {
  await writeFile(path(), 'a,b,c\n'.repeat(1_000));
  await expect(openStore()).rejects.toMatchObject({
    reason: 'corrupt',
    message: `The database ${path()} is not an SQLite database.`,
  });
});

test('damaged pages are reported, never served', async () => {
  const store = await openStore();
  const caller = await newCaller(store);
  const input = newLinks(5_000);
  const outcome = await store.createBatch({ caller, input, now: NOW });
  if (!outcome.ok) throw new Error(outcome.reason);
  await store.close();
  const file = await open(path(), 'r+');
  const { size } = await file.stat();
  // The schema stands in the first pages; the second half holds links and their index only.
  const half = Math.floor(size / 2 / 4096) * 4096;
  await file.write(Buffer.alloc(size - half, 0xff), 0, size - half, half);
  await file.close();

  const damaged = await openStore();
  let reported = 0;
  for (const { code = '', target_url } of outcome.value) {
    try {
      expect(await damaged.findRedirect(code)).toMatchObject({ target_url });
    } catch (error) {
      expect(error).toMatchObject({ name: 'StoreError', reason: 'corrupt' });
      reported += 1;
    }
  }
  expect(reported).toBeGreaterThan(0);
  await damaged.close();
});

test('while another process holds the database, writes fail in time and reads work; then everything works again', async () => {
  const store = await openStore();
  const caller = await newCaller(store);
  const create = () => store.createLink({ caller, input: newLink(), now: NOW });
  const holder = new Database({ path: path() });
  holder.exec('BEGIN IMMEDIATE');
  await expect(create()).rejects.toMatchObject({
    reason: 'busy',
    message: `The database ${path()} is held by another process.`,
  });
  await expect(store.admit(caller, NOW)).rejects.toMatchObject({ reason: 'busy' });
  expect(await store.findAccount(caller.accountId)).toBeDefined();
  holder.exec('COMMIT');
  holder.close();
  expect(await create()).toMatchObject({ ok: true });
  expect((await store.usage(caller.accountId, NOW)).links.used).toBe(1);
  await store.close();
});

test('a connection that may only read refuses writes with words', () => {
  const writable = new Database({ path: path() });
  writable.exec('CREATE TABLE t (a TEXT)');
  writable.close();
  const db = new Database({ path: path(), readOnly: true });
  expect(() => db.run(sqlText('INSERT INTO t VALUES (1)'))).toThrow(
    `The database ${path()} can be read, but not written.`,
  );
  db.close();
});

test('what was stored is there after the file was closed and opened again', async () => {
  const first = await openStore();
  const caller = await newCaller(first, { requests_per_minute: 2 });
  await first.admit(caller, NOW);
  const outcome = await first.createLink({ caller, input: newLink(), now: NOW });
  if (!outcome.ok) throw new Error(outcome.reason);
  await first.exportLinks(undefined, async () => undefined);
  // Nobody reads an old state any more, so that all of the write-ahead log can be carried over.
  const checkpoint = new Database({ path: path() });
  expect(checkpoint.get(sqlText('PRAGMA wal_checkpoint(TRUNCATE)'))).toMatchObject({ busy: 0 });
  checkpoint.close();
  await first.close();
  // The last connection that ends takes the log with it.
  expect(existsSync(`${path()}-wal`)).toBe(false);

  const second = await openStore();
  expect(await second.findLink(outcome.value.code)).toEqual(outcome.value);
  expect(await second.admit(caller, NOW)).toMatchObject({ admitted: true });
  expect(await second.admit(caller, NOW)).toMatchObject({ admitted: false });
  await second.close();
});

test('nobody but the owner can read the files of a database, also of one that is older', async () => {
  await writeFile(path(), '', { mode: 0o644 });
  await chmod(path(), 0o644);
  const modes = async () => {
    const files = [path(), `${path()}-wal`, `${path()}-shm`].map((file) => stat(file));
    return (await Promise.all(files)).map(({ mode }) => mode & 0o777);
  };
  const store = await openStore();
  await newCaller(store);
  expect(await modes()).toEqual([0o600, 0o600, 0o600]);
  for (const file of [path(), `${path()}-wal`, `${path()}-shm`]) await chmod(file, 0o660);
  const second = await openStore();
  expect(await modes()).toEqual([0o600, 0o600, 0o600]);
  await Promise.all([store.close(), second.close()]);
});

test.each([
  ['deleted', () => rm(path())],
  ['deleted with the files beside it', () => rmAll(path())],
  ['replaced', () => rename(path(), `${path()}.old`).then(() => writeFile(path(), ''))],
  ['without its write-ahead log', () => rm(`${path()}-wal`)],
])(
  'a database file that is %s while it is open fails writes instead of losing them',
  async (_, act) => {
    const store = await openStore();
    const caller = await newCaller(store);
    const create = () => store.createLink({ caller, input: newLink(), now: NOW });
    expect(await create()).toMatchObject({ ok: true });
    expect(store.isHealthy()).toBe(true);
    await act();
    expect(store.isHealthy()).toBe(false);
    await expect(create()).rejects.toMatchObject({
      name: 'StoreError',
      reason: 'unavailable',
      message: `The database ${path()} was deleted or replaced while it was open.`,
    });
    expect(store.isHealthy()).toBe(false);
    await store.close();
  },
);

test('a database file that is moved away and back is used again', async () => {
  const store = await openStore();
  const caller = await newCaller(store);
  const create = () => store.createLink({ caller, input: newLink(), now: NOW });
  await rename(path(), `${path()}.moved`);
  await expect(create()).rejects.toMatchObject({ reason: 'unavailable' });
  await rename(`${path()}.moved`, path());
  expect(await create()).toMatchObject({ ok: true });
  expect(store.isHealthy()).toBe(true);
  await store.close();
});

test('a create whose file is deleted before the response is never acknowledged', async () => {
  const db = new Database({ path: path() });
  migrate(db, migrations, NOW);
  const opened = watchPlace(path());
  const exec = db.exec.bind(db);
  vi.spyOn(db, 'exec').mockImplementation((sql) => {
    exec(sql);
    if (sql === 'COMMIT') rmSync(path());
  });
  const core = new WriteCore(
    { db, generateCode, shortUrl: (code) => code, isIdle: () => false },
    opened,
  );
  const limits = PLAN_LIMITS.community;
  const input = { name: 'Acme', plan: 'community', limits, now: NOW } as const;
  const replies: WriteReply[] = [];
  core.run([{ id: 1, name: 'createAccount', args: [input] }], (some) => replies.push(...some));
  expect(replies).toMatchObject([{ id: 1, ok: false, reason: 'outcome_unknown' }]);
  db.close();
});

async function rmAll(file: string): Promise<void> {
  for (const name of [file, `${file}-wal`, `${file}-shm`]) await rm(name);
}

import { chownSync, statSync } from 'node:fs';
import {
  chmod,
  chown,
  mkdir,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';
import process from 'node:process';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { NOW, newCaller, newLink, PUBLIC_URL } from '../contract/fixtures.test-suite.ts';
import { sql, sqlText } from '../queries/reading.ts';
import { Database } from './database.ts';
import { backupSqlite, inspectSqlite, migrateSqlite, openSqliteStore } from './index.ts';
import { migrate, migrations } from './migrate.ts';
import { openFile } from './open-file.ts';
import { useDatabasePath } from './temp-database.test-suite.ts';

vi.mock('node:fs', async (original) => {
  const fs = await original<typeof import('node:fs')>();
  return { ...fs, chownSync: vi.fn(fs.chownSync) };
});

const path = useDatabasePath();

let umask: number;
beforeEach(() => {
  // What most systems have: new files can be read by everybody.
  umask = process.umask(0o022);
});
afterEach(() => {
  process.umask(umask);
});

/** Opens the store, writes to it, and tells the permissions of every file there is meanwhile. */
async function modesInUse(): Promise<Record<string, string>> {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  await store.createLink({ caller, input: newLink(), now: NOW });
  const folder = dirname(path());
  const modes = await Promise.all(
    (await readdir(folder)).map(async (name) => {
      const { mode } = await stat(join(folder, name));
      return [name, (mode & 0o777).toString(8)] as const;
    }),
  );
  await store.close();
  return Object.fromEntries(modes);
}

const PRIVATE = { 'shortlink.db': '600', 'shortlink.db-wal': '600', 'shortlink.db-shm': '600' };

test('a new database and the files beside it can be read by their owner only', async () => {
  expect(await modesInUse()).toEqual(PRIVATE);
});

test('a database that others could read is taken away from them, with the files beside it', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  await newCaller(store);
  for (const suffix of ['', '-wal', '-shm']) await chmod(`${path()}${suffix}`, 0o644);
  expect(await modesInUse()).toEqual(PRIVATE);
  await store.close();
});

test.each([
  ['a folder', (path: string) => mkdir(path)],
  [
    'a text',
    (path: string) => writeFile(path, 'no database, but a longer text than its header'.repeat(20)),
  ],
  [
    'the database of another program',
    async (path: string) => {
      const other = new Database({ path });
      other.exec('CREATE TABLE theirs (id INTEGER)');
      other.close();
    },
  ],
])('%s that the setting names by mistake keeps its rights and its content', async (_, make) => {
  await make(path());
  await chmod(path(), 0o755);
  const content = () => readFile(path()).catch(() => 'a folder');
  const before = await content();
  for (const migrate of [true, false]) {
    const opening = openSqliteStore({ path: path(), publicUrl: PUBLIC_URL, migrate });
    await expect(opening).rejects.toThrow(path());
  }
  await expect(async () => migrateSqlite(path())).rejects.toThrow(path());
  expect((await stat(path())).mode & 0o777).toBe(0o755);
  expect(await content()).toEqual(before);
  expect(await readdir(dirname(path()))).toEqual(['shortlink.db']);
});

test.each([
  ['an empty file', [], 'is empty'],
  ['the database of a version before', [{ version: 1, name: 'one', sql: '' }], 'schema version 1'],
])(
  '%s that a command may not migrate keeps its rights and its content',
  async (_, steps, words) => {
    await writeFile(path(), '');
    if (steps.length > 0) {
      const db = new Database({ path: path() });
      migrate(db, steps, NOW);
      db.close();
    }
    await chmod(path(), 0o640);
    const before = await readFile(path());
    const opening = openSqliteStore({ path: path(), publicUrl: PUBLIC_URL, migrate: false });
    await expect(opening).rejects.toThrow(words);
    expect(await readFile(path())).toEqual(before);
    expect((await stat(path())).mode & 0o777).toBe(0o640);
    expect(await readdir(dirname(path()))).toEqual(['shortlink.db']);
  },
);

test('a look at a database, such as a copy of a backup, changes nothing and finds its domains', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const { accountId } = await newCaller(store);
  const domain = await store.addDomain({ hostname: 'go.example', accountId, now: NOW });
  const copy = join(dirname(path()), 'copy.db');
  await backupSqlite(path(), copy);
  await store.close();
  await chmod(copy, 0o640);
  const before = await readFile(copy);
  expect(inspectSqlite(copy).domains).toEqual([domain]);
  expect(await readFile(copy)).toEqual(before);
  expect((await stat(copy)).mode & 0o777).toBe(0o640);
});

test('a look at a database that nobody has open leaves no files beside it', async () => {
  await migrateSqlite(path());
  expect(inspectSqlite(path()).version).toBe(migrations.at(-1)?.version);
  expect(await readdir(dirname(path()))).toEqual(['shortlink.db']);
});

test.runIf(process.getuid?.() === 0)(
  'a database that root makes belongs to the owner of its folder, and one that exists keeps its own',
  async () => {
    await chown(dirname(path()), 65_534, 65_533);
    await migrateSqlite(path());
    expect(await stat(path())).toMatchObject({ uid: 65_534, gid: 65_533 });
    await chown(path(), 0, 0);
    await migrateSqlite(path());
    expect(await stat(path())).toMatchObject({ uid: 0, gid: 0 });
  },
);

test.runIf(process.getuid?.() === 0)(
  'nobody but root changes an owner, for which the unit of systemd would kill the server',
  async () => {
    await chown(dirname(path()), 65_534, 65_533);
    vi.mocked(chownSync).mockClear();
    process.seteuid?.(65_534);
    try {
      openFile({ path: path(), busyTimeoutMs: 1_000 }).close();
    } finally {
      process.seteuid?.(0);
    }
    expect((await stat(path())).uid).toBe(65_534);
    expect(chownSync).not.toHaveBeenCalled();
  },
);

test('a file that is no database is refused as before', async () => {
  await writeFile(path(), 'no database, but text that is longer than its header'.repeat(20));
  const opening = openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  await expect(opening).rejects.toThrow('is not an SQLite database');
});

// Linux shows locks. Without it, another program that closes the file takes itself for the last one, and removes the log.
test('an open database is locked against the removal of its log', async (context) => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const { ino } = await stat(path());
  const all = await readFile('/proc/locks', 'utf8').catch(() => '');
  await store.close();
  const ours = all.split('\n').filter((line) => line.includes(`READ ${process.pid} `));
  // Not on other systems, and not in every container. The file of shared memory is locked in any case.
  context.skip(ours.length === 0, 'this system shows no locks');
  expect(ours).toContainEqual(expect.stringContaining(`:${ino} `));
});

test('a path that can no longer be looked at, such as a link in a circle, is not the open file', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  await rename(path(), `${path()}.old`);
  await symlink(path(), path());
  expect(store.isHealthy()).toBe(false);
  const create = () => store.createLink({ caller, input: newLink(), now: NOW });
  await expect(create()).rejects.toMatchObject({ reason: 'unavailable' });
  await rm(path());
  await rename(`${path()}.old`, path());
  expect(await create()).toMatchObject({ ok: true });
  expect(store.isHealthy()).toBe(true);
  await store.close();
});

test('the write-ahead log gives back what it grew by while a backup read', () => {
  const db = openFile({ path: path(), busyTimeoutMs: 1_000 });
  const reader = new Database({ path: path() });
  db.exec('CREATE TABLE filler (text TEXT)');
  reader.exec('BEGIN');
  reader.get(sqlText('SELECT count(*) FROM filler'));
  const fill = () => db.run(sql`INSERT INTO filler VALUES (${'x'.repeat(1_000_000)})`);
  for (let n = 0; n < 40; n += 1) fill();
  const MIB = 1024 * 1024;
  expect(statSync(`${path()}-wal`).size).toBeGreaterThan(32 * MIB);
  reader.exec('COMMIT');
  for (let n = 0; n < 5; n += 1) fill();
  expect(statSync(`${path()}-wal`).size).toBeLessThan(17 * MIB);
  reader.close();
  db.close();
});

test('the size of a database is that of its write-ahead log, too', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  await newCaller(store);
  const sizes = await Promise.all(
    [path(), `${path()}-wal`].map(async (file) => (await stat(file)).size),
  );
  expect(sizes).toEqual([expect.any(Number), expect.toSatisfy((size) => size > 0)]);
  expect(inspectSqlite(path()).disk?.used).toBe(sizes.reduce((sum, size) => sum + size, 0));
  await store.close();
});

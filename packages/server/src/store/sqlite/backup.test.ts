import fs, { readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test, vi } from 'vitest';
import {
  finishJob,
  NOW,
  newCaller,
  newJob,
  newLink,
  PUBLIC_URL,
} from '../contract/fixtures.test-suite.ts';
import { sqlText } from '../queries/reading.ts';
import { Database } from './database.ts';
import { backupSqlite, migrateSqlite, openSqliteStore } from './index.ts';
import { useDatabasePath } from './temp-database.test-suite.ts';

const path = useDatabasePath();
const copyPath = () => join(dirname(path()), 'copy.db');

/** A database that a backup waits for until it is released. */
async function lockedDatabase(): Promise<Database> {
  await migrateSqlite(path());
  const holder = new Database({ path: path() });
  // With a write-ahead log, nobody who reads would wait.
  holder.exec('PRAGMA journal_mode = DELETE');
  holder.exec('BEGIN EXCLUSIVE');
  return holder;
}

/** The backup, and what is beside it. */
const files = async () =>
  (await readdir(dirname(path()))).filter((name) => name.startsWith('copy.db'));

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

/** Makes `link` fail as it does on file systems without hard links. */
function withoutHardLinks(): void {
  const error = Object.assign(new Error('EPERM: operation not permitted'), { code: 'EPERM' });
  vi.spyOn(fs, 'link').mockRejectedValue(error);
  syncBuiltinESMExports();
}

test('a backup made while the server writes holds all that was acknowledged before, and can be served', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  const codes: string[] = [];
  let writing = true;
  const writers = Array.from({ length: 8 }, async () => {
    while (writing) {
      const outcome = await store.createLink({ caller, input: newLink(), now: NOW });
      if (outcome.ok) codes.push(outcome.value.code);
    }
  });
  const jobId = await newJob(store, caller, 1_200);
  // A chunk of another job that waits beside it keeps the rest of this one for later, however slow this thread is.
  await Promise.all([jobId, 'another'].map((id) => store.runJobChunk(id, NOW)));
  const acknowledged = [...codes];
  await backupSqlite(path(), copyPath());
  const after = codes.length;
  await expect.poll(() => codes.length).toBeGreaterThan(after);
  writing = false;
  await Promise.all(writers);
  await store.close();

  expect((await stat(copyPath())).mode & 0o777).toBe(0o600);
  const restored = await openSqliteStore({ path: copyPath(), publicUrl: PUBLIC_URL });
  for (const code of acknowledged) expect(await restored.findRedirect(code)).toBeDefined();
  expect(await restored.pendingJobs()).toEqual([jobId]);
  await finishJob(restored, jobId);
  expect(await restored.findJob(caller.accountId, jobId)).toMatchObject({ processed: 1_200 });
  expect(await restored.createLink({ caller, input: newLink(), now: NOW })).toMatchObject({
    ok: true,
  });
  const { links } = await restored.usage(caller.accountId, NOW);
  await restored.close();
  const db = new Database({ path: copyPath() });
  expect(db.get(sqlText('PRAGMA integrity_check'))).toEqual({ integrity_check: 'ok' });
  expect(db.get(sqlText('SELECT count(*) AS used FROM links'))).toEqual({ used: links.used });
  db.close();
});

test('a file that exists is left alone', async () => {
  await (await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL })).close();
  await writeFile(copyPath(), 'precious');
  await expect(backupSqlite(path(), copyPath())).rejects.toMatchObject({
    reason: 'unavailable',
    message: `The file ${copyPath()} exists already. Choose another name for the backup, or delete that file first.`,
  });
  expect(await readFile(copyPath(), 'utf8')).toBe('precious');
});

test('a backup into a folder that does not exist says so', async () => {
  await (await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL })).close();
  const file = join(dirname(path()), 'nowhere', 'copy.db');
  await expect(backupSqlite(path(), file)).rejects.toMatchObject({
    reason: 'unavailable',
    message: `The backup file ${file} can not be made (ENOENT). Its folder must exist and be writable.`,
  });
});

test('a database that does not exist is not made, nor is its copy', async () => {
  await expect(backupSqlite(path(), copyPath())).rejects.toMatchObject({
    reason: 'too_old',
    message: `There is no database ${path()}, or this user may not enter its folder.`,
  });
  await expect(stat(path())).rejects.toThrow('ENOENT');
  await expect(stat(copyPath())).rejects.toThrow('ENOENT');
  await expect(backupSqlite(':memory:', copyPath())).rejects.toThrow('in memory');
});

test('a file that holds no database of this service is not copied', async () => {
  await writeFile(path(), '');
  await expect(backupSqlite(path(), copyPath())).rejects.toMatchObject({
    reason: 'corrupt',
    message: `The database ${path()} is empty; it isn't one of shortlink-server.`,
  });
  const db = new Database({ path: path() });
  db.exec('CREATE TABLE recipes (name TEXT)');
  db.close();
  await expect(backupSqlite(path(), copyPath())).rejects.toMatchObject({
    reason: 'corrupt',
    message: expect.stringContaining('holds other tables'),
  });
  expect(await files()).toEqual([]);
});

test('the file has its name only when the copy is whole, and only its owner can read the part of it', async () => {
  const holder = await lockedDatabase();
  const backup = backupSqlite(path(), copyPath());
  await expect.poll(files).toEqual([expect.stringMatching(/^copy\.db\.\w+\.part$/)]);
  const [part = ''] = await files();
  expect((await stat(join(dirname(path()), part))).mode & 0o777).toBe(0o600);
  holder.close();
  await backup;
  expect(await files()).toEqual(['copy.db']);
  expect((await stat(copyPath())).mode & 0o777).toBe(0o600);
});

test.each(['with hard links', 'without'])(
  'a file that appears while the copy is made is not overwritten, %s',
  async (links) => {
    if (links === 'without') withoutHardLinks();
    const holder = await lockedDatabase();
    const backup = backupSqlite(path(), copyPath()).catch((error: unknown) => error);
    await expect.poll(files).toContainEqual(expect.stringMatching(/\.part$/));
    await writeFile(copyPath(), 'precious');
    holder.close();
    expect(await backup).toMatchObject({
      reason: 'unavailable',
      message: expect.stringContaining(`${copyPath()} exists already`),
    });
    expect(await readFile(copyPath(), 'utf8')).toBe('precious');
    expect(await files()).toEqual(['copy.db']);
  },
);

test('on a file system without hard links, the backup gets its name all the same', async () => {
  await migrateSqlite(path());
  withoutHardLinks();
  await backupSqlite(path(), copyPath());
  expect(await files()).toEqual(['copy.db']);
  const db = new Database({ path: copyPath() });
  expect(db.get(sqlText('PRAGMA integrity_check'))).toEqual({ integrity_check: 'ok' });
  db.close();
});

test.each(['-journal', '-wal'])(
  'a %s that another database left beside the name is not taken for one of the backup',
  async (suffix) => {
    await migrateSqlite(path());
    await writeFile(copyPath() + suffix, 'old');
    await expect(backupSqlite(path(), copyPath())).rejects.toThrow(
      `The file ${copyPath()}${suffix} exists already.`,
    );
    expect(await files()).toEqual([`copy.db${suffix}`]);
  },
);

test('a backup that is interrupted leaves nothing, also while it waits', async () => {
  const holder = await lockedDatabase();
  const interruption = new AbortController();
  const backup = backupSqlite(path(), copyPath(), interruption.signal);
  const outcome = backup.catch((error: unknown) => error);
  await expect.poll(files).toContainEqual(expect.stringMatching(/\.part$/));
  interruption.abort();
  expect(await outcome).toMatchObject({ message: 'The backup was interrupted.' });
  expect(await files()).toEqual([]);
  holder.close();
  // Who still waited for the database would write its copy now.
  await sleep(500);
  expect(await files()).toEqual([]);
});

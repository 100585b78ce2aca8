import { readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { expect, test } from 'vitest';
import { finishJob, NOW, newCaller, newJob, newLink, PUBLIC_URL } from '../contract/fixtures.ts';
import { Database } from './database.ts';
import { backupSqlite, openSqliteStore } from './index.ts';
import { useDatabasePath } from './temp-database.test-suite.ts';

const path = useDatabasePath();
const copyPath = () => join(dirname(path()), 'copy.db');

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
  expect(db.get('PRAGMA integrity_check')).toEqual({ integrity_check: 'ok' });
  expect(db.get('SELECT count(*) AS used FROM links')).toEqual({ used: links.used });
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
  const file = join(dirname(path()), 'nowhere', 'copy.db');
  await expect(backupSqlite(path(), file)).rejects.toMatchObject({
    reason: 'unavailable',
    message: `The backup file ${file} can not be made (ENOENT). Its folder must exist and be writable.`,
  });
});

test('a database that does not exist is not made, nor is its copy', async () => {
  await expect(backupSqlite(path(), copyPath())).rejects.toMatchObject({ reason: 'unavailable' });
  await expect(stat(path())).rejects.toThrow('ENOENT');
  await expect(stat(copyPath())).rejects.toThrow('ENOENT');
  await expect(backupSqlite(':memory:', copyPath())).rejects.toThrow('in memory');
});

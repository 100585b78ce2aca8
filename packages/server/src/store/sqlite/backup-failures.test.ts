import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { backupSqlite, migrateSqlite } from './index.ts';
import { useDatabasePath } from './temp-database.test-suite.ts';

const path = useDatabasePath();
const copyPath = () => join(dirname(path()), 'copy.db');

afterEach(() => {
  vi.unstubAllEnvs();
});

/** Makes the process that copies run this code first, as options of an operator can. */
async function runFirst(code: string): Promise<void> {
  const file = join(dirname(path()), 'first.cjs');
  await writeFile(file, code);
  vi.stubEnv('NODE_OPTIONS', `--require ${file}`);
}

const PRINTS = `
  console.log('traced');
  process.on('exit', () => console.log('{"reason":"corrupt","message":"not ours"}'));`;

test('what else the process prints that copies is no failure', async () => {
  await migrateSqlite(path());
  await runFirst(PRINTS);
  await backupSqlite(path(), copyPath());
  expect(await readdir(dirname(path()))).toContain('copy.db');
});

test('nor does it hide one', async () => {
  await writeFile(path(), '');
  await runFirst(PRINTS);
  await expect(backupSqlite(path(), copyPath())).rejects.toMatchObject({
    reason: 'corrupt',
    message: `The database ${path()} is empty; it isn't one of shortlink-server.`,
  });
});

test('a disk that is full is that of the backup', async () => {
  await migrateSqlite(path());
  await runFirst(`
    const { DatabaseSync } = process.getBuiltinModule('node:sqlite');
    const { prepare } = DatabaseSync.prototype;
    DatabaseSync.prototype.prepare = function (sql) {
      if (!sql.startsWith('VACUUM')) return prepare.call(this, sql);
      throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
    };`);
  await expect(backupSqlite(path(), copyPath())).rejects.toMatchObject({
    reason: 'full',
    message: `The backup file ${copyPath()} can not be written: no space is left.`,
  });
  const files = await readdir(dirname(path()));
  expect(files.filter((name) => name.startsWith('copy.db'))).toEqual([]);
});

test.each(['', '.', '..', 'new/', 'new/.', 'folder/'])(
  'a backup is not copied into %j, which names no file',
  async (name) => {
    await migrateSqlite(path());
    const folder = dirname(path());
    await mkdir(join(folder, 'folder'));
    const file = name === '' ? '' : `${folder}/${name}`;
    await expect(backupSqlite(path(), file)).rejects.toMatchObject({
      reason: 'unavailable',
      message: `${JSON.stringify(file)} is no name of a file. Name the file to write the backup to, such as backup.db.`,
    });
    expect((await readdir(folder)).toSorted()).toEqual(['folder', 'shortlink.db']);
  },
);

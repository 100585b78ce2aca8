import { spawnSync } from 'node:child_process';
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { testFolder } from '../../../test/test-io.ts';
import { inTransaction, openLocked, openPrivate } from './database.ts';
import { hasContent, refuseIrregular } from './file.ts';

let path: string;
beforeEach(async () => {
  path = join(await testFolder(), 'journal');
});

/** What a user reads: the message, what to do about it, and exit code 2. */
const userError = (message: string, hint: string) =>
  expect.objectContaining({
    code: 'input',
    message: expect.stringContaining(message),
    hint: expect.stringContaining(hint),
  });

function expectError(work: () => unknown, message: string, hint = '--journal'): void {
  let thrown: unknown;
  try {
    work();
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toEqual(userError(message, hint));
}

/** A database that some program has written. */
function database(sql: string): void {
  const db = new DatabaseSync(path);
  db.exec(sql);
  db.close();
}

const rows = (db: DatabaseSync, sql: string) => db.prepare(sql).all();

describe('the database of a journal', () => {
  test('is made where there is none, for its owner only, and opened again', () => {
    openLocked(path).close();
    expect(statSync(path).mode & 0o777).toBe(0o600);
    const db = openLocked(path);
    expect(rows(db, 'SELECT * FROM log')).toEqual([]);
    db.close();
  });

  test('has every step on disk, and takes little memory', () => {
    const db = openLocked(path);
    const setting = (name: string) => Object.values(rows(db, `PRAGMA ${name}`)[0] ?? {})[0];
    // Without a write-ahead log, the file is whole by itself.
    expect(setting('journal_mode')).toBe('delete');
    expect(setting('synchronous')).toBe(2);
    expect(setting('locking_mode')).toBe('exclusive');
    expect(setting('cache_size')).toBe(-8000);
    expect(setting('temp_store')).toBe(1);
    expect(setting('page_size')).toBe(8192);
    db.close();
  });

  test('is locked against another run until it is closed', () => {
    const db = openLocked(path);
    expectError(() => openLocked(path), 'in use by another run', 'Wait until it ends');
    db.close();
    openLocked(path).close();
  });

  test('is opened once more where a run that ended removed it in between', () => {
    const ending = openLocked(path);
    const exec = vi.spyOn(DatabaseSync.prototype, 'exec');
    try {
      exec.mockImplementationOnce(function (this: DatabaseSync, sql: string) {
        exec.mockRestore();
        rmSync(path);
        ending.close();
        this.exec(sql);
      });
      const db = openLocked(path);
      db.exec('INSERT INTO seal VALUES (1, 7)');
      db.close();
    } finally {
      exec.mockRestore();
    }
    const again = openLocked(path);
    expect(rows(again, 'SELECT * FROM seal')).toEqual([{ id: 1, records: 7 }]);
    again.close();
  });

  test('is opened five times at most where another run removes it each time', () => {
    const { exec: real } = DatabaseSync.prototype;
    const exec = vi.spyOn(DatabaseSync.prototype, 'exec');
    const opens = () =>
      exec.mock.calls.filter(([sql]) => sql.startsWith('PRAGMA busy_timeout')).length;
    try {
      openLocked(path).close();
      expect(opens()).toBe(1);
      exec.mockImplementation(function (this: DatabaseSync, sql: string) {
        real.call(this, sql);
        if (sql.startsWith('BEGIN EXCLUSIVE')) rmSync(path);
      });
      openLocked(path).close();
      expect(opens()).toBe(6);
    } finally {
      exec.mockRestore();
    }
  });

  test('leaves nothing behind where it can not be made', () => {
    const { exec: real } = DatabaseSync.prototype;
    const exec = vi.spyOn(DatabaseSync.prototype, 'exec');
    onTestFinished(() => exec.mockRestore());
    exec.mockImplementation(function (this: DatabaseSync, sql: string) {
      if (sql.includes('CREATE TABLE')) {
        throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
      }
      real.call(this, sql);
    });
    expect(() => openLocked(path)).toThrow('the disk is full');
    expect(readdirSync(dirname(path))).toEqual([]);
  });

  test('of a copy, or of no file at all, needs no lock', () => {
    const db = openPrivate('');
    expect(rows(db, 'SELECT * FROM log')).toEqual([]);
    db.close();
    openLocked(path).close();
    openPrivate(path).close();
  });
});

describe('a file is refused that', () => {
  test.each([
    ['is of another program', 'CREATE TABLE a (b)', 'is not an import journal', '--journal'],
    [
      'a newer release has written',
      'CREATE TABLE a (b); PRAGMA application_id = 0x534c4a33',
      'was written by a newer release',
      'Update shortlink',
    ],
    [
      'an earlier release has written',
      'CREATE TABLE a (b); PRAGMA application_id = 0x534c4a31; PRAGMA user_version = 2',
      'is a journal of an earlier release',
      '--known',
    ],
  ])('%s', (_, sql, message, hint) => {
    database(sql);
    for (const open of [openLocked, openPrivate]) expectError(() => open(path), message, hint);
    // It is not left locked.
    database('CREATE TABLE c (d)');
  });

  test('is damaged', () => {
    openLocked(path).close();
    writeFileSync(path, readFileSync(path).fill(0xff, 100));
    expectError(() => openLocked(path), 'is damaged', '--known');
  });

  test.each([10, 16, 100, 511, 8_192])('is cut off after %s bytes', (size) => {
    openLocked(path).close();
    writeFileSync(path, readFileSync(path).subarray(0, size));
    for (const open of [openLocked, () => hasContent(path) && openPrivate(path)])
      expectError(() => open(path), 'is damaged', '--known');
  });

  test('is text', () => {
    writeFileSync(path, 'url\nhttps://a.example/\n');
    expectError(() => openLocked(path), 'is not an import journal');
  });

  test('is a directory, or a link, itself or what belongs to it', () => {
    for (const part of ['', '-journal']) refuseIrregular(`${path}${part}`);
    mkdirSync(path);
    expectError(() => openLocked(path), 'it is a directory');
    for (const part of ['-journal']) {
      symlinkSync('nowhere', `${path}2${part}`);
      expectError(
        () => refuseIrregular(`${path}2`),
        `journal2${part} can't be the journal: it is a symbolic link`,
      );
      expectError(() => openLocked(`${path}2`), 'it is a symbolic link');
    }
  });

  test('lies where nothing can be written', () => {
    writeFileSync(path, '');
    expectError(() => openLocked(join(path, 'below')), 'a part of its path is not a folder');
    expectError(() => openLocked(join(`${path}-none`, 'below')), 'no such file or folder');
    expectError(() => refuseIrregular(join(path, 'x'.repeat(300))), "can't be written");
  });
});

test('a file is known by its first bytes', () => {
  writeFileSync(path, '');
  expect(hasContent(path)).toBe(false);
  database('CREATE TABLE a (b)');
  expect(hasContent(path)).toBe(true);
  writeFileSync(path, 'url');
  expect(() => hasContent(path)).toThrow('is not an import journal');
});

describe('errors of the database', () => {
  const failing = (errcode: number) => () =>
    inTransaction(openPrivate(''), path, () => {
      throw Object.assign(new Error('the words of SQLite'), { errcode });
    });

  test.each([
    [5, 'in use by another run'],
    [11, 'is damaged: the words of SQLite'],
    [26, 'is damaged: the words of SQLite'],
    [5 | (2 << 8), 'in use by another run'],
    // Its folder takes no files.
    [8 | (6 << 8), "can't be written: permission denied"],
  ])('%i is for the user to solve', (errcode, message) => {
    expect(failing(errcode)).toThrow(message);
  });

  test.each([
    [13, 'the disk is full'],
    [10, 'the disk reports an error'],
    [10 | (3 << 8), 'the disk reports an error'],
  ])('%i ends the run, and the same command continues', (errcode, reason) => {
    expect(failing(errcode)).toThrow(expect.objectContaining({ code: 'system' }));
    expect(failing(errcode)).toThrow(reason);
  });

  test.each([
    ['of the database', Object.assign(new Error('the words of SQLite'), { errcode: 1 })],
    ['of the program', new TypeError('a defect')],
    ['a text', 'no error at all'],
  ])('others are thrown as they are: %s', (_, other) => {
    let thrown: unknown;
    try {
      inTransaction(openPrivate(''), path, () => {
        throw other;
      });
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBe(other);
  });
});

test('what a transaction returns is kept, and one that fails can be followed by another', () => {
  const db = openPrivate('');
  db.exec('CREATE TEMP TABLE service (url)');
  const add = (url: string) => db.prepare('INSERT INTO service (url) VALUES (?)').run(url);
  const failing = () => {
    add('b');
    throw new Error('failed');
  };
  expect(inTransaction(db, path, () => add('a').changes)).toBe(1);
  expect(() => inTransaction(db, path, failing)).toThrow('failed');
  inTransaction(db, path, () => add('c'));
  expect(rows(db, 'SELECT url FROM service')).toEqual([{ url: 'a' }, { url: 'c' }]);
  db.close();
});

test('a temporary folder without room is not blamed on the journal', async ({ skip }) => {
  const folder = await testFolder();
  // Only root may mount; elsewhere there is no small folder.
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder]);
  if (mounted.status !== 0) skip('no file system can be mounted here');
  onTestFinished(() => void spawnSync('umount', [folder]));
  // A process of its own: SQLite reads the environment of the process, of which a thread has a copy.
  const script = `
    import { inTransaction, openLocked } from ${JSON.stringify(new URL('./database.ts', import.meta.url))};
    const db = openLocked(${JSON.stringify(path)});
    inTransaction(db, ${JSON.stringify(path)}, () => {
      db.exec('CREATE TEMP TABLE large (text TEXT)');
      const insert = db.prepare('INSERT INTO large VALUES (?)');
      for (let row = 0; row < 200; row += 1) insert.run('x'.repeat(100_000));
    });`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], {
    encoding: 'utf8',
    env: { TMPDIR: folder },
  });
  expect(stderr).toContain(`The temporary folder ${folder} can't be written: the disk is full`);
});

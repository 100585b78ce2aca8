import {
  closeSync,
  constants,
  lstatSync,
  openSync,
  readSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { inputError, placeWithoutRoom, systemReason, writeError } from '../errors.ts';
import { loadSqlite } from './load-sqlite.ts';

/** `PRAGMA application_id` of a journal: "SLJ1" in ASCII. */
const APPLICATION_ID = 0x534c4a31;

/** `PRAGMA user_version`; a journal of a higher version was written by a newer release. */
const SCHEMA_VERSION = 2;

/** Bytes of a page. The texts of a batch are long, so that larger pages are written faster; a small batch writes few of them. */
const PAGE_BYTES = 8_192;

/** Longest wait for a lock that another process holds for a moment, such as one that looks at the same time. */
const LOCK_WAIT_MS = 250;

/** How often a journal that was removed between two looks is opened again. */
const MAX_OPENS = 5;

const SCHEMA = `
  CREATE TABLE service (id INTEGER PRIMARY KEY, url TEXT NOT NULL UNIQUE) STRICT;
  -- A request that may have created links, from the moment before it is sent: those of 'link' that name it.
  CREATE TABLE batch (
    id INTEGER PRIMARY KEY, service INTEGER NOT NULL REFERENCES service, sent_at TEXT NOT NULL,
    idempotency_key TEXT, job TEXT, error TEXT, first_link INTEGER NOT NULL, size INTEGER NOT NULL, domain TEXT
  ) STRICT;
  -- The links of a request as they are sent, where it may be sent again under its key.
  CREATE TABLE body (batch INTEGER PRIMARY KEY REFERENCES batch, links TEXT NOT NULL) STRICT;
  -- A link that exists, or may exist: then it has no short_url, and 'batch' is the request that may have created it. One that was refused
  -- ('failed') stays until the next run. See link-identity.ts for 'key' and 'content'.
  CREATE TABLE link (
    id INTEGER PRIMARY KEY, service INTEGER NOT NULL REFERENCES service, key INTEGER NOT NULL, content INTEGER NOT NULL, pair TEXT NOT NULL,
    batch INTEGER REFERENCES batch, code TEXT, short_url TEXT, error TEXT, failed INTEGER
  ) STRICT;
  -- Whose journal it is: the input, as seen from the folder of the journal.
  CREATE TABLE owner (input TEXT NOT NULL) STRICT;
  -- SHA-256 of files that imports have written: a file with another content was changed since.
  CREATE TABLE written (id INTEGER PRIMARY KEY, content TEXT NOT NULL) STRICT;
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${SCHEMA_VERSION};`;

/**
 * Opens the database of a journal and locks it until it is closed. The lock is the kernel's, on the open file: it ends with
 * the process, however that ends, and holds against processes of every machine that shares the disk.
 *
 * @throws CliError (exit code 2) when another run holds it, or the file is no journal or can't be written
 */
export function openLocked(path: string): DatabaseSync {
  for (let opens = 1; ; opens += 1) {
    prepareFile(path);
    const before = inodeOf(path);
    const db = openDatabase(path);
    try {
      db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA busy_timeout = ${LOCK_WAIT_MS}`);
      db.exec('PRAGMA locking_mode = EXCLUSIVE');
      db.exec('BEGIN EXCLUSIVE; COMMIT');
      // A run that ends without having recorded anything removes its journal: then this lock is one of a file without a name.
      if (before === inodeOf(path) || opens === MAX_OPENS) {
        // Without a write-ahead log, the file itself has everything that is committed.
        db.exec(`PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; ${BOUNDED_MEMORY}`);
        prepareSchema(db, path);
        return db;
      }
      db.close();
    } catch (error) {
      db.close();
      throw readableError(path, error);
    }
  }
}

/**
 * Opens a journal that is a copy of its own, or none at all: nobody else can have it.
 *
 * @param path - of what it is a copy of, for messages
 */
export function openPrivate(file: string, path = file): DatabaseSync {
  const db = openDatabase(file);
  try {
    db.exec(`PRAGMA locking_mode = EXCLUSIVE; ${BOUNDED_MEMORY}`);
    prepareSchema(db, path);
    return db;
  } catch (error) {
    db.close();
    throw readableError(path, error);
  }
}

/** Runs `work` in one transaction, which is on disk when this returns. */
export function inTransaction<T>(db: DatabaseSync, path: string, work: () => T): T {
  try {
    db.exec('BEGIN IMMEDIATE');
    const result = work();
    db.exec('COMMIT');
    return result;
  } catch (error) {
    rollBack(db);
    throw readableError(path, error);
  }
}

/** Whether a journal remembers no link, of any service. */
export function isEmpty(db: DatabaseSync): boolean {
  const sql = 'SELECT 1 FROM link WHERE failed IS NULL UNION ALL SELECT 1 FROM batch';
  return db.prepare(sql).get() === undefined;
}

/** The last id of all links, also of those that were removed from a batch that is still open. */
export function lastLink(db: DatabaseSync): number {
  const sql = `SELECT max(id) AS id FROM (
    SELECT 0 AS id UNION ALL SELECT max(id) FROM link UNION ALL SELECT max(first_link + size - 1) FROM batch
  )`;
  return Number(db.prepare(sql).get()?.['id']);
}

/** Removes the file while it is locked: a run that has opened it in the meantime notices (see {@link openLocked}). */
export function removeJournal(path: string): void {
  rmSync(path, { force: true });
}

/** Some errors, such as a full disk, have ended the transaction already. */
function rollBack(db: DatabaseSync): void {
  try {
    db.exec('ROLLBACK');
  } catch {
    // Nothing is left to roll back.
  }
}

/** Without foreign keys: with them, forgetting a batch looks at every link, and an import of a million rows has thousands of batches. */
function openDatabase(path: string): DatabaseSync {
  return new (loadSqlite().DatabaseSync)(path, { enableForeignKeyConstraints: false });
}

/** Settings that touch the file, so that it must be locked first. */
const BOUNDED_MEMORY = 'PRAGMA cache_size = -8000; PRAGMA temp_store = FILE';

function prepareSchema(db: DatabaseSync, path: string): void {
  const read = (name: string) => Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
  if (db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined) {
    inTransaction(db, path, () => db.exec(SCHEMA));
    return;
  }
  if (read('application_id') !== APPLICATION_ID) throw notAJournal(path);
  const version = read('user_version');
  if (version > SCHEMA_VERSION) {
    throw inputError(
      `${path} was written by a newer release of shortlink`,
      'Update shortlink, or name another file: --journal FILE',
    );
  }
  if (version < SCHEMA_VERSION) throw earlierRelease(path);
  const bytes = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes < read('page_size') * read('page_count'))
    throw damaged(path, 'a part of it is missing');
}

/** Creates the file, readable by its owner only, and rejects a file that is no journal. */
function prepareFile(path: string): void {
  refuseIrregular(path);
  try {
    // Not through a symbolic link or a pipe that somebody creates in this moment. Windows has neither flag.
    const { O_WRONLY, O_CREAT, O_NOFOLLOW, O_NONBLOCK } = constants;
    closeSync(openSync(path, O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK, 0o600));
  } catch (cause) {
    throw notWritable(path, cause);
  }
  refuseTextJournal(path);
}

function notWritable(path: string, cause: unknown) {
  return inputError(
    `${path} can't be written: ${systemReason(cause)}`,
    'Name another file: --journal FILE. Or put all that an import writes into another folder: --state-dir FOLDER',
  );
}

/**
 * A folder from someone else, such as from an archive, could lead the journal elsewhere with a symbolic link, or block it with a pipe.
 *
 * @throws CliError (exit code 2) when the journal, or a file that belongs to it, is there and is no regular file
 */
export function refuseIrregular(path: string): void {
  for (const part of [path, `${path}-journal`]) {
    const stats = lookAt(part);
    if (stats === undefined || stats.isFile()) continue;
    const what = stats.isSymbolicLink()
      ? 'a symbolic link'
      : stats.isDirectory()
        ? 'a directory'
        : 'a pipe or device';
    throw inputError(
      `${part} can't be the journal: it is ${what}`,
      'Remove it, or name another file: --journal FILE',
    );
  }
}

function lookAt(path: string): Stats | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false });
  } catch (cause) {
    throw notWritable(path, cause);
  }
}

/** @throws CliError (exit code 2) for a journal of version 0.1, or a file that is none */
export function refuseTextJournal(path: string): void {
  if (beginningOf(path) === 'text') throw earlierRelease(path);
}

function earlierRelease(path: string) {
  return inputError(
    `${path} is a journal of an earlier release of shortlink`,
    'Move it away and run the same command with --known and the results file of that import: the links in it are not created again.',
  );
}

function damaged(path: string, how: string) {
  return inputError(
    `${path} is damaged: ${how}`,
    'Keep it, and run with another --journal and with --known and the results file: the links in it are not created again.',
  );
}

const DATABASE_MAGIC = 'SQLite format 3\0';
const TEXT_JOURNAL = '{"t":"header"';

/**
 * What a file begins as: `text` is a journal of version 0.1.
 *
 * @throws CliError (exit code 2) when the file is no journal
 */
export function beginningOf(path: string): 'empty' | 'database' | 'text' {
  const bytes = Buffer.alloc(DATABASE_MAGIC.length);
  const file = openSync(path, 'r');
  const length = readSync(file, bytes, 0, bytes.length, 0);
  closeSync(file);
  const beginning = bytes.toString('latin1', 0, length);
  if (beginning === '') return 'empty';
  if (beginning === DATABASE_MAGIC) return 'database';
  if (beginning.startsWith(TEXT_JOURNAL)) return 'text';
  throw notAJournal(path);
}

function notAJournal(path: string) {
  return inputError(`${path} is not an import journal`, 'Name another file: --journal FILE');
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

const SQLITE_BUSY = 5;
const SQLITE_IOERR = 10;
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_NOTADB = 26;

/** An error of the database in words; other errors as they are. */
function readableError(path: string, error: unknown): unknown {
  if (!(error instanceof Error && 'errcode' in error)) return error;
  // The lower byte is the kind of error, the others say more.
  switch (Number(error.errcode) & 0xff) {
    case SQLITE_BUSY:
      return inputError(
        `${path} is in use by another run`,
        'Wait until it ends: two runs at once would create the same links twice.',
      );
    case SQLITE_FULL:
      return writeError(placeWithoutRoom(path), systemError('ENOSPC', error));
    case SQLITE_IOERR:
      return writeError(path, systemError('EIO', error));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damaged(path, error.message);
    default:
      return error;
  }
}

function systemError(code: string, cause: Error): Error {
  return Object.assign(new Error(cause.message, { cause }), { code });
}

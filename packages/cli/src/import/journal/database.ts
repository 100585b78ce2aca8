import { closeSync, constants, lstatSync, openSync, readSync, type Stats, statSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import { systemReason } from '@shortlink/tables/basics';
import { CliError } from '../../cli-error.ts';
import { inputError, placeWithoutRoom, writeError } from '../errors.ts';
import { loadSqlite } from './load-sqlite.ts';

/** `PRAGMA application_id` of a journal: "SLJ" in ASCII and a version. One of a higher version was written by a newer release. */
const APPLICATION = 0x534c4a;
const VERSION = 0x32;

/** Bytes of a page. The texts of a batch are long, so that larger pages are written faster; a small batch writes few of them. */
const PAGE_BYTES = 8_192;

/** Longest wait for a lock that another process holds for a moment, such as one that looks at the same time. */
const LOCK_WAIT_MS = 250;

/** How often a journal that was removed between two looks is opened again. */
const MAX_OPENS = 5;

/** The table of a room (see there). Journals of earlier releases have none, and those ignore it. */
const ROOM = 'CREATE TABLE room (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;';

const SCHEMA = `
  CREATE TABLE log (
    id INTEGER PRIMARY KEY, batch INTEGER NOT NULL, kind TEXT NOT NULL, info TEXT NOT NULL, data BLOB, sum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE seal (id INTEGER PRIMARY KEY, records INTEGER NOT NULL) STRICT;
  ${ROOM}
  PRAGMA application_id = ${APPLICATION * 256 + VERSION};`;

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
export function openPrivate(copy: string, path = copy): DatabaseSync {
  const db = openDatabase(copy);
  try {
    db.exec(`PRAGMA locking_mode = EXCLUSIVE; ${BOUNDED_MEMORY}`);
    prepareSchema(db, path, copy);
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
    try {
      db.exec('ROLLBACK');
    } catch {
      // Some errors, such as a full disk, have ended the transaction already.
    }
    throw readableError(path, error);
  }
}

function openDatabase(path: string): DatabaseSync {
  try {
    return new (loadSqlite().DatabaseSync)(path);
  } catch (error) {
    throw readableError(path, error);
  }
}

/** Settings that touch the file, so that it must be locked first. */
const BOUNDED_MEMORY = 'PRAGMA cache_size = -8000; PRAGMA temp_store = FILE';

function prepareSchema(db: DatabaseSync, path: string, file = path): void {
  const read = (name: string) => Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
  if (db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined) {
    inTransaction(db, path, () => db.exec(SCHEMA));
    return;
  }
  const id = read('application_id');
  if (id >> 8 !== APPLICATION) throw notAJournal(path);
  const version = id & 0xff;
  if (version > VERSION) {
    throw inputError(
      `${path} was written by a newer release of shortlink`,
      'Update shortlink, or name another file: --journal FILE',
    );
  }
  if (version < VERSION) {
    throw inputError(
      `${path} is a journal of an earlier release of shortlink`,
      'Move it into another folder, and run the same command with --known and the results file of that import: the links in it are not created again.',
    );
  }
  const bytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (bytes < read('page_size') * read('page_count')) throw incomplete(path);
  const room = db.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'room'").get();
  if (room === undefined) inTransaction(db, path, () => db.exec(ROOM));
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
  hasContent(path);
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
    const other = stats.isDirectory() ? 'a directory' : 'a pipe or device';
    const what = stats.isSymbolicLink() ? 'a symbolic link' : other;
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

function damaged(path: string, how: string) {
  return inputError(
    `${path} is damaged: ${how}`,
    'Keep it in another folder, and run with --known and the results file: the links in it are not created again.',
  );
}

export function incomplete(path: string) {
  return damaged(path, 'a part of it is missing, as in a copy that was made while an import ran');
}

const DATABASE_MAGIC = 'SQLite format 3\0';

/**
 * Whether a file is more than empty.
 *
 * @throws CliError (exit code 2) when it is no database
 */
export function hasContent(path: string): boolean {
  const bytes = Buffer.alloc(DATABASE_MAGIC.length);
  const file = openSync(path, 'r');
  const length = readSync(file, bytes, 0, bytes.length, 0);
  closeSync(file);
  const text = bytes.toString('latin1', 0, length);
  if (!DATABASE_MAGIC.startsWith(text)) throw notAJournal(path);
  if (length > 0 && text !== DATABASE_MAGIC) throw incomplete(path);
  return length > 0;
}

/** Where a database has its `application_id`. */
const ID_OFFSET = 68;

/** Whether a file is a journal, whatever its name is. */
export function isJournal(path: string): boolean {
  const bytes = Buffer.alloc(ID_OFFSET + 4);
  const file = openSync(path, 'r');
  readSync(file, bytes, 0, bytes.length, 0);
  closeSync(file);
  const isDatabase = bytes.toString('latin1', 0, DATABASE_MAGIC.length) === DATABASE_MAGIC;
  return isDatabase && bytes.readUInt32BE(ID_OFFSET) >> 8 === APPLICATION;
}

function notAJournal(path: string) {
  return inputError(`${path} is not an import journal`, 'Name another file: --journal FILE');
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_IOERR = 10;
const SQLITE_IOERR_WRITE = SQLITE_IOERR | (3 << 8);
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;

/** An error of the database in words; other errors as they are. */
export function readableError(path: string, error: unknown): unknown {
  if (!(error instanceof Error && 'errcode' in error)) return error;
  // The lower byte is the kind of error, the others say more.
  switch (Number(error.errcode) & 0xff) {
    case SQLITE_BUSY:
      return inputError(
        `${path} is in use by another run`,
        'Wait until it ends: two runs at once would create the same links twice.',
      );
    case SQLITE_READONLY:
      return notWritable(path, systemError('EACCES', error));
    case SQLITE_FULL:
      return writeError(placeWithoutRoom(path), systemError('ENOSPC', error));
    case SQLITE_IOERR:
      return writeError(path, systemError('EIO', error));
    case SQLITE_CANTOPEN:
      return writeError(path, error);
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return damaged(path, error.message);
    default:
      return error;
  }
}

/** Whether something could not be written because of a full disk, or a limit of the user or of the file. */
export function lacksRoom(error: unknown): boolean {
  const cause = error instanceof CliError && error.cause instanceof Error && error.cause.cause;
  const code = cause instanceof Error && 'errcode' in cause ? cause.errcode : undefined;
  return code === SQLITE_FULL || code === SQLITE_IOERR_WRITE;
}

function systemError(code: string, cause: Error): Error {
  return Object.assign(new Error(cause.message, { cause }), { code });
}

import {
  closeSync,
  constants,
  copyFileSync,
  existsSync,
  linkSync,
  openSync,
  rmSync,
  statSync,
} from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { InputError, inputError } from '@shortlink/tables/basics';
import { partialName, placeWithoutRoom, writeError } from '../folder.ts';
import {
  ALLOW,
  APPLICATION,
  damaged,
  hasContent,
  incomplete,
  notAJournal,
  notWritable,
  refuseIrregular,
  UPGRADE,
} from './file.ts';

/** The last byte of `PRAGMA application_id`: a higher one is that of a newer release. */
const VERSION = 0x32;

/** Larger pages are written faster, since the texts of a batch are long. A small batch writes few of them. */
const PAGE_BYTES = 8_192;

/** Another process holds a lock for a moment where it looks at the same time. */
const LOCK_WAIT_MS = 250;

/** How often a journal that was removed between two looks is opened again. */
const MAX_OPENS = 5;

/** Journals of earlier releases have no room, and those releases ignore it. */
const ROOM =
  'CREATE TABLE IF NOT EXISTS room (id INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;';

const SCHEMA = `
  CREATE TABLE log (
    id INTEGER PRIMARY KEY, batch INTEGER NOT NULL, kind TEXT NOT NULL, info TEXT NOT NULL, data BLOB, sum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE seal (id INTEGER PRIMARY KEY, records INTEGER NOT NULL) STRICT;
  ${ROOM}
  PRAGMA application_id = ${APPLICATION * 256 + VERSION}`;

/**
 * Opens the database of a journal and locks it until it is closed. The lock is the kernel's, on the open file: it ends with the
 * process, and holds against processes of every machine that shares the disk.
 *
 * @throws InputError when another run holds it, or the file is no journal or can't be written
 */
export function openLocked(path: string): DatabaseSync {
  for (let opens = 1; ; opens += 1) {
    prepareFile(path);
    const before = inodeOf(path);
    const db = openDatabase(path);
    try {
      db.exec(`PRAGMA busy_timeout = ${LOCK_WAIT_MS}; PRAGMA locking_mode = EXCLUSIVE`);
      db.exec('BEGIN EXCLUSIVE; COMMIT');
      // A run that has recorded nothing removes its journal: then this lock is one of a file without a name.
      if (before === inodeOf(path) || opens === MAX_OPENS) {
        // Without a write-ahead log, the file itself has everything that is committed.
        db.exec(`PRAGMA journal_mode = DELETE; PRAGMA synchronous = FULL; ${BOUNDED_MEMORY}`);
        prepareSchema(db, path, { isCut: true });
        return db;
      }
      db.close();
    } catch (error) {
      db.close();
      throw readableError(path, error);
    }
  }
}

/** Opens a copy of the journal at `path`, or a new one, which nobody else can have. */
export function openPrivate(copy: string, path = copy, isCut = false): DatabaseSync {
  const db = openDatabase(copy);
  try {
    db.exec(`PRAGMA locking_mode = EXCLUSIVE; ${BOUNDED_MEMORY}`);
    // An undo file that belongs to another database may damage more than the records.
    const isUndone = existsSync(`${copy}-journal`);
    const found = isUndone ? db.prepare('PRAGMA quick_check(1)').get()?.['quick_check'] : 'ok';
    if (found !== 'ok') throw damaged(path, String(found));
    prepareSchema(db, path, { file: copy, isCut });
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

/** Whether a run was killed in a transaction, which SQLite undoes at the next opening. Throws an InputError when a run holds it. */
export function isInTransaction(path: string): boolean {
  const db = openDatabase(path, true);
  try {
    db.prepare('SELECT 1 FROM sqlite_schema').get();
    return false;
  } catch (error) {
    if (!(error instanceof Error && 'errcode' in error)) throw error;
    if (error.errcode === SQLITE_READONLY_ROLLBACK) return true;
    throw readableError(path, error);
  } finally {
    db.close();
  }
}

function openDatabase(path: string, readOnly = false): DatabaseSync {
  try {
    return new DatabaseSync(path, { readOnly });
  } catch (error) {
    throw readableError(path, error);
  }
}

/** Settings that touch the file, so that it must be locked first. */
const BOUNDED_MEMORY = 'PRAGMA cache_size = -8000; PRAGMA temp_store = FILE';

/** `PRAGMA user_version` of a journal that has lost its content. */
const WAS_CUT = 1;

/** Whether a journal was found with 0 bytes. */
export function wasCut(db: DatabaseSync): boolean {
  return db.prepare('PRAGMA user_version').get()?.['user_version'] === WAS_CUT;
}

/** @param isCut - whether a journal without tables has lost them */
function prepareSchema(db: DatabaseSync, path: string, { file = path, isCut = false }): void {
  const read = (name: string) => Number(db.prepare(`PRAGMA ${name}`).get()?.[name]);
  if (db.prepare('SELECT 1 FROM sqlite_schema').get() === undefined) {
    db.exec(`PRAGMA page_size = ${PAGE_BYTES}; PRAGMA auto_vacuum = INCREMENTAL`);
    const version = isCut ? WAS_CUT : 0;
    inTransaction(db, path, () => db.exec(`${SCHEMA}; PRAGMA user_version = ${version}`));
    return;
  }
  const id = read('application_id');
  if (id >> 8 !== APPLICATION) throw notAJournal(path);
  const version = id & 0xff;
  if (version > VERSION) {
    throw inputError(`${path} was written by a newer release of shortlink`, 'Update shortlink.');
  }
  if (version < VERSION) {
    throw inputError(`${path} is a journal of an earlier release of shortlink`, UPGRADE);
  }
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats && stats.size < read('page_size') * read('page_count')) throw incomplete(path);
  db.exec(ROOM);
}

/** Creates the file where there is none, for its owner only. It gets its name once it is whole, so that one of 0 bytes was cut, as on a full disk. */
function prepareFile(path: string): void {
  refuseIrregular(path);
  const isThere = existsSync(path);
  const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK } = constants;
  const draft = partialName(path);
  try {
    // The file is not opened through a symbolic link or a pipe that somebody creates now. Windows has neither flag.
    const flags = isThere ? O_NOFOLLOW | O_NONBLOCK : O_CREAT | O_EXCL;
    closeSync(openSync(isThere ? path : draft, O_WRONLY | flags, 0o600));
  } catch (cause) {
    throw notWritable(path, cause, isThere ? ALLOW : undefined);
  }
  if (!isThere) {
    try {
      openPrivate(draft, path).close();
      nameJournal(draft, path);
    } finally {
      rmSync(draft, { force: true });
    }
  }
  hasContent(path);
}

/** Gives a new journal its name, unless another run was faster. */
function nameJournal(draft: string, path: string): void {
  try {
    linkSync(draft, path);
  } catch {
    // Some file systems have no hard links.
    if (!existsSync(path)) copyFileSync(draft, path, constants.COPYFILE_EXCL);
  }
}

function inodeOf(path: string): number | undefined {
  return statSync(path, { throwIfNoEntry: false })?.ino;
}

const SQLITE_BUSY = 5;
const SQLITE_READONLY = 8;
const SQLITE_READONLY_ROLLBACK = SQLITE_READONLY | (3 << 8);
const SQLITE_IOERR = 10;
const SQLITE_IOERR_WRITE = SQLITE_IOERR | (3 << 8);
const SQLITE_CORRUPT = 11;
const SQLITE_FULL = 13;
const SQLITE_CANTOPEN = 14;
const SQLITE_NOTADB = 26;

/** An error of the database in words; other errors as they are. */
export function readableError(path: string, error: unknown): unknown {
  if (!(error instanceof Error && 'errcode' in error)) return error;
  // The lower byte is the kind of error.
  switch (Number(error.errcode) & 0xff) {
    case SQLITE_BUSY:
      return inputError(
        `${path} is in use by another run`,
        'Wait until it ends: two runs at once would create the same links twice.',
      );
    case SQLITE_READONLY:
      return notWritable(path, systemError('EACCES', error), ALLOW);
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

/** Whether the disk, or a limit of the user or of the file, has no room for what was to be written. */
export function lacksRoom(error: unknown): boolean {
  const cause = error instanceof InputError && error.cause instanceof Error && error.cause.cause;
  const code = cause instanceof Error && 'errcode' in cause ? cause.errcode : undefined;
  return code === SQLITE_FULL || code === SQLITE_IOERR_WRITE;
}

function systemError(code: string, cause: Error): Error {
  return Object.assign(new Error(cause.message, { cause }), { code });
}

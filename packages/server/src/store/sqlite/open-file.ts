import { chmodSync, closeSync, existsSync, openSync, statSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { sql } from '../queries/reading.ts';
import { StoreError } from '../store-error.ts';
import { Database } from './database.ts';

/**
 * Pages the write-ahead log may grow to before they are copied into the database: 16 MB. Random codes touch the same pages
 * of their index again and again, and each is copied once however often it was written: at SQLite's own 1,000 pages a job
 * spends a third of its time copying.
 */
const CHECKPOINT_PAGES = 4_000;

/** Opens a connection to a database file, with the write-ahead log on. Nobody but the file's owner can read it from then on. */
export function openFile({
  path,
  busyTimeoutMs,
}: {
  path: string;
  busyTimeoutMs: number;
}): Database {
  makePrivate(path);
  const db = new Database({ path, busyTimeoutMs });
  try {
    db.exec('PRAGMA journal_mode = WAL');
    db.exec(`PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES}`);
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

/**
 * Makes the file, or takes the rights of others away. SQLite gives the files beside it the same rights when it makes them.
 *
 * A file that exists is not opened here: on Unix, closing it would drop every lock that this process has on it, and another
 * program could remove the write-ahead log of a database that is open.
 */
function makePrivate(path: string): void {
  try {
    if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600));
    for (const file of [path, ...filesBeside(path)]) {
      const mode = statSync(file, { throwIfNoEntry: false })?.mode ?? 0;
      if ((mode & 0o077) !== 0) chmodSync(file, 0o600);
    }
  } catch {
    // What is wrong with a file that can't be opened is reported by SQLite. One that belongs to somebody else stays as it is.
  }
}

function filesBeside(path: string): string[] {
  return [`${path}-wal`, `${path}-shm`];
}

/**
 * Tells whether an open database is still the file at its path. On Unix, a file that was deleted or replaced still takes writes,
 * and they are gone with the process. The write-ahead log counts too: it holds the last commits.
 */
export class OpenedFile {
  readonly #path: string;
  readonly #identity: string;

  /** @param path of a database that this process has open */
  constructor(path: string) {
    this.#path = path;
    this.#identity = this.#identityNow();
  }

  isInPlace(): boolean {
    return this.#identityNow() === this.#identity;
  }

  /** The error of a write to a file that is gone. */
  lost(reason: 'unavailable' | 'outcome_unknown'): StoreError {
    const message = `The database ${this.#path} was deleted or replaced while it was open.`;
    return new StoreError(reason, message);
  }

  #identityNow(): string {
    const files = [this.#path, `${this.#path}-wal`].map((file) =>
      statSync(file, { throwIfNoEntry: false }),
    );
    return files.map((stats) => `${stats?.dev}:${stats?.ino}`).join(' ');
  }
}

/**
 * Writes a copy of the database as it is at this moment, compacted, into a new file that only its owner can read. The server
 * may run: readers don't hold up its writes. The copy is on disk when this resolves.
 *
 * @throws StoreError when the file exists already, or when either database can't be read or written; a half copy is removed.
 */
export async function backupSqlite(path: string, file: string): Promise<void> {
  if (path === ':memory:') {
    throw new StoreError('unavailable', 'A database in memory can not be backed up.');
  }
  const copy = await open(file, 'wx', 0o600).catch((error: unknown) => {
    const code = error instanceof Error && 'code' in error ? error.code : error;
    const message =
      code === 'EEXIST'
        ? `The file ${file} exists already. Choose another name for the backup, or delete that file first.`
        : `The backup file ${file} can not be made (${code}). Its folder must exist and be writable.`;
    throw new StoreError('unavailable', message, { cause: error });
  });
  try {
    const db = new Database({ path, readOnly: true });
    try {
      // SQLite writes into an empty file, but leaves it to us to wait for the disk.
      db.run(sql`VACUUM INTO ${file}`);
    } finally {
      db.close();
    }
    await copy.sync();
  } catch (error) {
    await rm(file, { force: true });
    throw error;
  } finally {
    await copy.close();
  }
}

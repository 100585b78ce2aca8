import { chmodSync, closeSync, fchmodSync, fstatSync, openSync, statSync } from 'node:fs';
import { Database } from './database.ts';

/**
 * Pages the write-ahead log may grow to before they are copied into the database: 16 MB. Random codes touch the same pages
 * of their index again and again, and each is copied once however often it was written: at SQLite's own 1,000 pages a job
 * spends a third of its time copying.
 */
const CHECKPOINT_PAGES = 4_000;

/** Opens a connection to a database file, with the write-ahead log on. */
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

/** Nobody but the owner of a database needs to read it: it holds the hashes of keys and where links lead. */
const OWNER_ONLY = 0o600;
const NOT_OWNER = 0o077;

/**
 * Makes a new database file for its owner only, and takes an existing one, with the files beside it, away from everybody else.
 * SQLite gives the files beside a database the permissions of the database.
 */
function makePrivate(path: string): void {
  try {
    const file = openSync(path, 'a', OWNER_ONLY);
    try {
      if (fstatSync(file).mode & NOT_OWNER) fchmodSync(file, OWNER_ONLY);
    } finally {
      closeSync(file);
    }
    for (const beside of [`${path}-wal`, `${path}-shm`]) {
      const mode = statSync(beside, { throwIfNoEntry: false })?.mode ?? 0;
      if (mode & NOT_OWNER) chmodSync(beside, OWNER_ONLY);
    }
  } catch {
    // A directory that is missing or full, or a file of another user: opening the database says what is wrong.
  }
}

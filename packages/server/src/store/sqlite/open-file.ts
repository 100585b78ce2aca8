import { accessSync, chmodSync, chownSync, constants, statSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { StoreError } from '../store-error.ts';
import { Database } from './database.ts';
import { migrations, schemaVersion } from './migrate.ts';

/** Pages the write-ahead log may grow to, 16 MB: each page is copied once, however often random codes touch it. At 1,000, a third of a job is copying. */
const CHECKPOINT_PAGES = 4_000;

/** The path as SQLite takes it: absolute, since the working directory may be renamed, and a path that begins with `file:` is a URL to SQLite. */
export const absolutePath = (path: string) => (path === ':memory:' ? path : resolve(path));

export function checkExists(path: string): void {
  const none = `There is no database ${path}, or this user may not enter its folder.`;
  const other = 'A database in memory is that of the process which made it: no other one finds it.';
  if (path === ':memory:') throw new StoreError('unavailable', other);
  if (attempt(() => statSync(path)) === undefined) throw new StoreError('too_old', none);
}

/** A server that can't write would go on redirecting, and lose every click. */
export function checkWritable(path: string): void {
  try {
    accessSync(path, constants.R_OK | constants.W_OK);
  } catch (cause) {
    const why = `it belongs to the user ${statSync(path).uid} (${cause instanceof Error && cause.message})`;
    const message = `The database ${path} can not be read and written by this user: ${why}.`;
    throw new StoreError('read_only', message, { cause });
  }
}

/** Opens a connection to a database file, with the write-ahead log on, and makes the file its owner's alone. One that can't be used stays as it is. */
export function openFile(file: { path: string; busyTimeoutMs: number; mayMigrate?: boolean }) {
  const { path, busyTimeoutMs, mayMigrate } = file;
  if (path !== ':memory:') attempt(() => makeFile(path));
  const prepare = (db: Database) => {
    schemaVersion(db, migrations, mayMigrate);
    for (const file of [path, `${path}-wal`, `${path}-shm`]) attempt(() => makePrivate(file));
    // A backup lets the log grow. Without a limit it keeps that size.
    db.exec(`PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = ${CHECKPOINT_PAGES};
      PRAGMA journal_size_limit = ${CHECKPOINT_PAGES * 4_096}`);
  };
  return new Database({ path, busyTimeoutMs, prepare });
}

function attempt<T>(act: () => T): T | undefined {
  try {
    return act();
  } catch {
    // What is wrong with a file that can't be opened is reported by SQLite. One that belongs to somebody else stays as it is.
    return undefined;
  }
}

function makeFile(path: string): void {
  // One that exists is not opened: on Unix, closing it would drop every lock of this process, and others could remove the log of an open database.
  writeFileSync(path, '', { flag: 'wx', mode: 0o600 });
  // A file that root makes is given to the owner of its folder, who may be the user of the server. No other user tries: the systemd unit kills a server that does.
  const { uid, gid } = statSync(dirname(path));
  if (statSync(path).uid === 0 && uid !== 0) chownSync(path, uid, gid);
}

function makePrivate(file: string): void {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() && (stats.mode & 0o077) !== 0) chmodSync(file, 0o600);
}

/** Makes what tells whether an open database and its log are still the files of these names. Deleted ones take writes that are gone with the process. */
export function watchPlace(path: string): () => boolean {
  const identity = () => [path, `${path}-wal`].map(identityOf).join(' ');
  const opened = identity();
  return () => identity() === opened;
}

/** A symbolic link in a circle, or in a folder that may not be entered, counts as no file: nobody finds the open database there. */
function identityOf(file: string): string {
  const stats = attempt(() => statSync(file, { throwIfNoEntry: false }));
  return `${stats?.dev}:${stats?.ino}`;
}

import { open, rm } from 'node:fs/promises';
import { StoreError } from '../store-error.ts';
import { Database } from './database.ts';

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
    const message = error instanceof Error ? error.message : String(error);
    throw new StoreError('unavailable', `The backup can not be made: ${message}`, { cause: error });
  });
  try {
    const db = new Database({ path, readOnly: true });
    try {
      // SQLite writes into an empty file, but leaves it to us to wait for the disk.
      db.run('VACUUM INTO ?', file);
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

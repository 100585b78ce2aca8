import { isMainThread, parentPort, workerData } from 'node:worker_threads';
import { sql } from '../queries/reading.ts';
import { StoreError, type StoreErrorReason } from '../store-error.ts';
import { Database } from './database.ts';
import { schemaVersion } from './migrate.ts';

/** What the main thread hands to the thread: a database, and the empty file that it is copied into. */
export interface BackupThreadData {
  path: string;
  part: string;
}

/** What the thread posts at its end. Errors are posted as plain data: a class doesn't survive the way between threads. */
export type BackupThreadReply =
  | { ok: true }
  | { ok: false; reason: StoreErrorReason; message: string };

function copy({ path, part }: BackupThreadData): BackupThreadReply {
  try {
    const db = new Database({ path, readOnly: true });
    try {
      if (schemaVersion(db) === 0) {
        const message = `The database ${path} is empty; it isn't one of shortlink-server.`;
        throw new StoreError('corrupt', message);
      }
      db.run(sql`VACUUM INTO ${part}`);
    } finally {
      db.close();
    }
    return { ok: true };
  } catch (error) {
    if (!(error instanceof StoreError)) throw error;
    return { ok: false, reason: error.reason, message: error.message };
  }
}

if (!isMainThread) parentPort?.postMessage(copy(workerData));

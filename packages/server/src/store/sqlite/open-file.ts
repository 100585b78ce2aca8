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

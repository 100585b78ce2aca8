import { Database } from './database.ts';

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
    return db;
  } catch (error) {
    db.close();
    throw error;
  }
}

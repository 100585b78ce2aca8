import process, { argv } from 'node:process';
import { sql } from '../queries/reading.ts';
import { StoreError, type StoreErrorReason } from '../store-error.ts';
import { Database } from './database.ts';
import { schemaVersion } from './migrate.ts';

/** What this process sends to the one that started it, when it fails. */
export interface BackupFailure {
  reason: StoreErrorReason;
  message: string;
}

try {
  const [path = '', part = ''] = argv.slice(2);
  using db = new Database({ path, readOnly: true });
  if (schemaVersion(db) === 0) {
    const message = `The database ${path} is empty; it isn't one of shortlink-server.`;
    throw new StoreError('corrupt', message);
  }
  db.run(sql`VACUUM INTO ${part}`);
} catch (error) {
  if (!(error instanceof StoreError)) throw error;
  process.send?.({ reason: error.reason, message: error.message } satisfies BackupFailure);
  process.exitCode = 1;
}

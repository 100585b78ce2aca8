import { argv, stdout } from 'node:process';
import { sql } from '../queries/reading.ts';
import { StoreError, type StoreErrorReason } from '../store-error.ts';
import { Database } from './database.ts';
import { schemaVersion } from './migrate.ts';

/** What the process prints when it can't copy the database. It prints nothing when it has. */
export interface BackupFailure {
  reason: StoreErrorReason;
  message: string;
}

/** Copies a database into the empty file `part`. */
function copy(path: string, part: string): void {
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
}

try {
  const [path = '', part = ''] = argv.slice(2);
  copy(path, part);
} catch (error) {
  if (!(error instanceof StoreError)) throw error;
  const failure: BackupFailure = { reason: error.reason, message: error.message };
  stdout.write(JSON.stringify(failure));
}

import { writeSync } from 'node:fs';
import process, { argv } from 'node:process';
import { sql } from '../queries/reading.ts';
import { StoreError, type StoreErrorReason } from '../store-error.ts';
import { Database } from './database.ts';
import { schemaVersion } from './migrate.ts';

/** File descriptor of the pipe to the process that started this one. Standard output may get lines that are not ours. */
const PARENT = 3;

export interface BackupFailure {
  reason: StoreErrorReason;
  message: string;
}

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
  writeSync(PARENT, JSON.stringify(failure));
  process.exitCode = 1;
}

import { type Migration, type MigrationReport, readVersion } from '../migration.ts';
import { sql } from '../queries/reading.ts';
import { recordStep } from '../tables.ts';
import type { Database } from './database.ts';

export { migrations } from './migrations.ts';

/** Wait between two steps, in which a server of the version before writes what it has, in milliseconds. */
const PAUSE_MS = 100;

const wait = () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);

/**
 * Brings the schema up to date, each step in a transaction of its own: a server on the database waits for one only. A new database gets all in
 * one. `pause` waits between two steps; a page shares its database with nobody, and must not wait.
 */
export function migrate(
  db: Database,
  migrations: readonly Migration[],
  now: number,
  mayMigrate = true,
  pause: () => unknown = wait,
): MigrationReport {
  const newest = migrations.at(-1)?.version ?? 0;
  const from = schemaVersion(db, migrations, mayMigrate);
  // The common case begins no transaction, which would wait for a writer in another process.
  for (let version = from; version < newest; ) {
    version = runSteps(db, migrations, now);
    if (version < newest) pause();
  }
  return { from, to: newest };
}

/** Runs the next step, or all in an empty database, and returns the version that is reached. */
function runSteps(db: Database, migrations: readonly Migration[], now: number): number {
  db.exec('BEGIN IMMEDIATE');
  try {
    const from = schemaVersion(db);
    const missing = migrations.filter(({ version }) => version > from);
    const steps = from === 0 ? missing : missing.slice(0, 1);
    for (const step of steps) db.exec(`${step.sql}; ${recordStep('sqlite', step, now)}`);
    db.exec('COMMIT');
    return steps.at(-1)?.version ?? from;
  } catch (error) {
    db.rollback();
    throw error;
  }
}

export function schemaVersion(db: Database, steps?: readonly Migration[], mayMigrate?: boolean) {
  const tables = sql`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`;
  return db.read(readVersion(db.path, tables, steps, mayMigrate));
}

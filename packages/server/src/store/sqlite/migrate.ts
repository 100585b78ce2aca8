import { type Migration, type MigrationReport, readVersion } from '../migration.ts';
import { sql } from '../queries/reading.ts';
import { recordStep, sharedTables } from '../tables.ts';
import type { Database } from './database.ts';

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

/** A trigger that records what changed (see `link_changes`). */
const changesOf = (table: string, event: string, column: 'code' | 'owner', value: string) => `
    CREATE TRIGGER ${table}_${event.replace(/ .*/, '').toLowerCase()} AFTER ${event} ON ${table} BEGIN
      INSERT INTO link_changes (${column}) VALUES (${value});
    END;`;

/** From the next step on everything is only added, so that a server of the version before continues to work. Versions 1 to 18 were never released. */
export const migrations: readonly Migration[] = [
  {
    version: 19,
    name: 'first release',
    sql: `
    ${sharedTables('sqlite')}
    CREATE VIEW request_windows AS SELECT * FROM request_counters; -- PostgreSQL has some of them elsewhere

    CREATE TABLE key_days (
      key_id TEXT NOT NULL,
      day INTEGER NOT NULL, -- midnight UTC
      requests INTEGER NOT NULL,
      refused INTEGER NOT NULL,
      links INTEGER NOT NULL,
      minute INTEGER NOT NULL, -- the last minute that saw a request
      minute_requests INTEGER NOT NULL, -- requests in that minute
      PRIMARY KEY (key_id, day)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX key_days_day ON key_days (day);

    -- SQLite has one writer at a time, so numbers follow the order of commits.
    CREATE TRIGGER link_changes_bound AFTER INSERT ON link_changes BEGIN
      DELETE FROM link_changes WHERE number <= NEW.number - 1000;
    END;
    ${changesOf('links', 'UPDATE OF code, target_url, redirect_type, is_active, domain_id', 'code', 'OLD.code')}
    ${changesOf('links', 'DELETE', 'code', 'OLD.code')}
    ${changesOf('domains', 'INSERT', 'owner', 'NEW.id')}
    ${changesOf('domains', 'UPDATE', 'owner', 'NEW.id')}
    ${changesOf('domains', 'DELETE', 'owner', 'OLD.id')}
    ${changesOf('accounts', 'UPDATE OF disabled_at', 'owner', 'NEW.id')}
  `,
  },
];

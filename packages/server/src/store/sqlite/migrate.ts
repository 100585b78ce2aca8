import {
  checkIsNewest,
  checkVersion,
  hasSchema,
  type Migration,
  type MigrationReport,
} from '../migration.ts';
import { sql } from '../queries/reading.ts';
import type { Database } from './database.ts';
import { changes } from './migrations/changes.ts';
import { initial } from './migrations/initial.ts';

/** Every step of the schema, in order. A released step is never edited: a change is a new step. */
export const migrations: readonly Migration[] = [initial, ...changes];

const VERSION_TABLE = `
  CREATE TABLE IF NOT EXISTS schema_migrations (
    version INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    applied_at INTEGER NOT NULL
  ) STRICT`;

/**
 * Brings the schema up to date: all missing steps in one transaction, so that a crash leaves the old schema, and two
 * processes that start at once migrate once.
 *
 * @throws StoreError `too_new` when a newer version of this program migrated the database, `corrupt` when the file holds
 * another program's tables.
 */
export function migrate(
  db: Database,
  migrations: readonly Migration[],
  now: number,
): MigrationReport {
  const newest = migrations.at(-1)?.version ?? 0;
  // The common case, without waiting for a writer in another process.
  if (schemaVersion(db) === newest) return { from: newest, to: newest };
  db.exec('BEGIN IMMEDIATE');
  try {
    const from = schemaVersion(db);
    checkVersion(db.path, from, newest);
    db.exec(VERSION_TABLE);
    const missing = migrations.filter((migration) => migration.version > from);
    for (const migration of missing) {
      db.exec(migration.sql);
      db.run(sql`
        INSERT INTO schema_migrations (version, name, applied_at)
        VALUES (${migration.version}, ${migration.name}, ${now})`);
    }
    db.exec('COMMIT');
    return { from, to: newest };
  } catch (error) {
    db.rollback();
    throw error;
  }
}

/** Checks that nothing is to be migrated. Throws as {@link migrate} does, and `too_old` when it would do something. */
export function checkSchema(db: Database, migrations: readonly Migration[]): void {
  checkIsNewest(db.path, schemaVersion(db), migrations.at(-1)?.version ?? 0);
}

/** Version of the last migration; 0 for an empty database. Throws for the database of another program. */
export function schemaVersion(db: Database): number {
  const tables = db.all<{ name: string }>(
    `SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`,
  );
  if (!hasSchema(db.path, tables)) return 0;
  const row = db.get<{ version: number | null }>(
    'SELECT max(version) AS version FROM schema_migrations',
  );
  return row?.version ?? 0;
}

import type { Client } from 'pg';
import type { Migration, MigrationReport } from '../migration.ts';
import { StoreError } from '../store-error.ts';

/** Held while the schema is looked at and changed. Any number will do that nobody else uses in this database. */
const LOCK = 7_305_812_447;

const VERSION_TABLE = `
  CREATE TABLE IF NOT EXISTS schema_migrations (
    version integer PRIMARY KEY,
    name text NOT NULL,
    applied_at bigint NOT NULL
  )`;

/**
 * Brings the schema up to date, each missing step in a transaction, and then lets `prepare` do the same for what else has a
 * schema. Instances that start at once wait for one another, and the first does it.
 *
 * @param client - A connection of its own, connected: a step may take longer than a request may.
 * @throws StoreError `too_new` when a newer version of this program migrated the database, `corrupt` when it holds another
 * program's tables.
 */
export async function migrate(
  client: Client,
  migrations: readonly Migration[],
  options: { name: string; now: number; prepare: () => Promise<void> },
): Promise<MigrationReport> {
  await client.query('SELECT pg_advisory_lock($1)', [LOCK]);
  try {
    const from = await schemaVersion(client, options.name);
    const newest = migrations.at(-1)?.version ?? 0;
    if (from > newest) throw tooNew(options.name, from, newest);
    for (const migration of migrations) {
      if (migration.version > from) await apply(client, migration, options.now);
    }
    await options.prepare();
    return { from, to: newest };
  } finally {
    await client.query('SELECT pg_advisory_unlock($1)', [LOCK]).catch(() => undefined);
  }
}

async function apply(client: Client, migration: Migration, now: number): Promise<void> {
  await client.query('BEGIN');
  try {
    await client.query(VERSION_TABLE);
    await client.query(migration.sql);
    await client.query(
      'INSERT INTO schema_migrations (version, name, applied_at) VALUES ($1, $2, $3)',
      [migration.version, migration.name, now],
    );
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}

/** Version of the last migration; 0 for a database without tables in the schema we work in. */
async function schemaVersion(client: Client, name: string): Promise<number> {
  const { rows: tables } = await client.query<{ tablename: string }>(
    'SELECT tablename FROM pg_tables WHERE schemaname = current_schema()',
  );
  if (!tables.some((table) => table.tablename === 'schema_migrations')) {
    if (tables.length === 0) return 0;
    throw new StoreError(
      'corrupt',
      `The database ${name} holds other tables; it isn't one of shortlink-server.`,
    );
  }
  const { rows } = await client.query<{ version: number | null }>(
    'SELECT max(version) AS version FROM schema_migrations',
  );
  return rows[0]?.version ?? 0;
}

function tooNew(name: string, from: number, newest: number): StoreError {
  return new StoreError(
    'too_new',
    `The database ${name} has schema version ${from}; this program knows versions up to ${newest}. ` +
      'Use the newer version of shortlink-server that migrated it.',
  );
}

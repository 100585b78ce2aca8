import { type Reading, rowOf, rowsOf, type Statement, sql } from './queries/reading.ts';
import { StoreError } from './store-error.ts';

/**
 * A step of the schema. A change is a new step. What a later step replaces may be taken out of an earlier one, as long as every database ends
 * with the same schema (see `upgrade.test.ts`).
 */
export interface Migration {
  version: number;
  name: string;
  sql: string;
  /** Statements for PostgreSQL that can't be in a transaction. The step counts as done after them, so both are run again after a crash. */
  concurrently?: readonly string[] | undefined;
}

/** Schema versions before and after; 0 is an empty database. Equal when there was nothing to do. */
export interface MigrationReport {
  from: number;
  to: number;
}

/** Throws for a schema that a newer version of this program has migrated, and unless `mayMigrate` also for one that must be migrated. */
export function checkVersion(name: string, version: number, newest: number, mayMigrate = true) {
  const found = `The database ${name} has schema version ${version}`;
  if (version > newest) {
    throw new StoreError(
      'too_new',
      `${found}; this program knows versions up to ${newest}. Use the newer version of shortlink-server that migrated it.`,
    );
  }
  if (version > 2 && version < 11)
    throw new StoreError('too_old', `${found}, which no release had.`);
  if (mayMigrate || version === newest) return;
  const advice =
    version === 0
      ? `The database ${name} is empty. If it is the right one`
      : `${found}; this program needs ${newest}. Once its server may be upgraded`;
  throw new StoreError('too_old', `${advice}, run: shortlink-server migrate`);
}

/** Version of the last migration; 0 for a database without tables. Throws for the tables of another program. */
export function* readVersion(name: string, allTables: Statement): Reading<number> {
  const tables = yield* rowsOf<{ name: string }>(allTables);
  if (tables.length === 0) return 0;
  if (!tables.some((table) => table.name === 'schema_migrations')) {
    const message = `The database ${name} holds other tables; it isn't one of shortlink-server.`;
    throw new StoreError('corrupt', message);
  }
  const newest = yield* rowOf<{ version: number | null }>(sql`
    SELECT max(version) AS version FROM schema_migrations`);
  return newest?.version ?? 0;
}

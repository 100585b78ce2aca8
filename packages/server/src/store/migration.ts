import { type Reading, rowOf, rowsOf, type Statement, sql } from './queries/reading.ts';
import { StoreError } from './store-error.ts';

/** A step of the schema. */
export interface Migration {
  version: number;
  name: string;
  sql: string;
  /** Indexes of PostgreSQL, which can't be built in a transaction. The step counts as done after them, so its SQL is run again after a crash. */
  concurrently?: Readonly<Record<string, string>> | undefined;
}

/** Schema versions before and after; 0 is an empty database. Equal when there was nothing to do. */
export interface MigrationReport {
  from: number;
  to: number;
}

const LAST_STEP = sql`SELECT version, name FROM schema_migrations ORDER BY version DESC LIMIT 1`;

/**
 * The version of the schema, 0 of an empty database. Where there are `steps`, it must be one of theirs, and the last one unless `mayMigrate`.
 * @throws StoreError for any other version, and for the tables of another program
 */
export function* readVersion(
  name: string,
  allTables: Statement,
  steps?: readonly Migration[],
  mayMigrate = true,
): Reading<number> {
  const tables = yield* rowsOf<{ name: string }>(allTables);
  if (tables.length > 0 && !tables.some((table) => table.name === 'schema_migrations')) {
    const message = `The database ${name} holds other tables; it isn't one of shortlink-server.`;
    throw new StoreError('corrupt', message);
  }
  const last =
    tables.length > 0 ? yield* rowOf<Pick<Migration, 'version' | 'name'>>(LAST_STEP) : undefined;
  const version = last?.version ?? 0;
  const newest = steps?.at(-1)?.version ?? version;
  const found = `The database ${name} has schema version ${version}`;
  if (version > newest) {
    const message = `${found}; this program knows versions up to ${newest}. Use the newer version of shortlink-server that migrated it.`;
    throw new StoreError('too_new', message);
  }
  const isOurs = steps?.some((one) => one.version === version && one.name === last?.name);
  if (version > 0 && isOurs === false) {
    const message = `${found} (${last?.name}), which no release had. Export its links with the program that made it, and import them into a new database.`;
    throw new StoreError('too_old', message);
  }
  if (version < newest && !mayMigrate) {
    const advice =
      version === 0
        ? `The database ${name} is empty. If it is the right one`
        : `${found}; this program needs ${newest}. Once its server may be upgraded`;
    throw new StoreError('too_old', `${advice}, run: shortlink-server migrate`);
  }
  return version;
}

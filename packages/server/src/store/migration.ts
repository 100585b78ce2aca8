import { type Reading, rowOf, rowsOf, type Statement, sql } from './queries/reading.ts';
import { StoreError } from './store-error.ts';

/** A step of the schema. What a later step replaces may be taken out of it, while every database ends with the same schema (`upgrade.test.ts`). */
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

type LastStep = Pick<Migration, 'version' | 'name'>;

const LAST_STEP = sql`SELECT version, name FROM schema_migrations ORDER BY version DESC LIMIT 1`;

/** Throws for a schema of a newer program or with other steps, and, unless `mayMigrate`, for one that must be migrated. */
function checkVersion(
  name: string,
  { version, name: step }: LastStep,
  steps: readonly Migration[],
  mayMigrate: boolean,
) {
  const newest = steps.at(-1)?.version ?? 0;
  const found = `The database ${name} has schema version ${version}`;
  if (version > newest) {
    const message = `${found}; this program knows versions up to ${newest}. Use the newer version of shortlink-server that migrated it.`;
    throw new StoreError('too_new', message);
  }
  const isOurs = steps.some((one) => one.version === version && one.name === step);
  if (version > 0 && !isOurs) {
    const message = `${found} (${step}), which no release had. Export its links with the program that made it, and import them into a new database.`;
    throw new StoreError('too_old', message);
  }
  if (mayMigrate || version === newest) return;
  const advice =
    version === 0
      ? `The database ${name} is empty. If it is the right one`
      : `${found}; this program needs ${newest}. Once its server may be upgraded`;
  throw new StoreError('too_old', `${advice}, run: shortlink-server migrate`);
}

/**
 * The version of the schema, 0 of an empty database. It is checked where there are `steps`.
 * @throws StoreError for the tables of another program
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
  let last: LastStep = { version: 0, name: '' };
  if (tables.length > 0) last = (yield* rowOf<LastStep>(LAST_STEP)) ?? last;
  if (steps !== undefined) checkVersion(name, last, steps, mayMigrate);
  return last.version;
}

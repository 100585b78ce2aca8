import { StoreError } from './store-error.ts';

/** One step of a database's schema. */
export interface Migration {
  /** 1, 2, 3 and so on, without gaps. */
  version: number;
  name: string;
  sql: string;
  /** Statements for PostgreSQL that can't be in a transaction. The step counts as done after them, so both are run again after a crash. */
  concurrently?: readonly string[] | undefined;
}

/** Steps as they are written down, by name, each with its SQL. */
export type Steps = Readonly<Record<string, string | Pick<Migration, 'sql' | 'concurrently'>>>;

/** Gives each step its version: its place among the others. */
export function numbered(steps: Steps): Migration[] {
  return Object.entries(steps).map(([name, step], index) => {
    const { sql, concurrently } = typeof step === 'string' ? { sql: step } : step;
    return { version: index + 1, name, sql, concurrently };
  });
}

/** Schema versions before and after; 0 is an empty database. Equal when there was nothing to do. */
export interface MigrationReport {
  from: number;
  to: number;
}

/** Checks the version of a database's schema, which a newer version of this program may have migrated. */
export function checkVersion(name: string, version: number, newest: number): void {
  if (version <= newest) return;
  throw new StoreError(
    'too_new',
    `The database ${name} has schema version ${version}; this program knows versions up to ${newest}. ` +
      'Use the newer version of shortlink-server that migrated it.',
  );
}

/** Checks that a database has the schema of this program, for those that must not change it. */
export function checkIsNewest(name: string, version: number, newest: number): void {
  checkVersion(name, version, newest);
  if (version === newest) return;
  const found =
    version === 0
      ? `The database ${name} is empty. If it is the right one`
      : `The database ${name} has schema version ${version}; this program needs ${newest}. Once its server may be upgraded`;
  throw new StoreError('too_old', `${found}, run: shortlink-server migrate`);
}

/** Whether a database with these tables has a schema: no table says that it is new. Throws for the tables of another program. */
export function hasSchema(name: string, tables: readonly { name: string }[]): boolean {
  if (tables.length === 0) return false;
  if (tables.some((table) => table.name === 'schema_migrations')) return true;
  throw new StoreError(
    'corrupt',
    `The database ${name} holds other tables; it isn't one of shortlink-server.`,
  );
}

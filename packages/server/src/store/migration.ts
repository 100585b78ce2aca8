import { StoreError } from './store-error.ts';

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

/** Checks the version of a database's schema, which a newer version of this program may have migrated. */
export function checkVersion(name: string, version: number, newest: number): void {
  if (version > 2 && version < 11) {
    const message = `The database ${name} has schema version ${version}, which no release had.`;
    throw new StoreError('too_old', message);
  }
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

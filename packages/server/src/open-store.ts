import { ConfigError, readNamed, type Settings } from './settings.ts';
import type { DatabaseFacts } from './store/operator-store.ts';
import * as sqlite from './store/sqlite/index.ts';
import type { Store } from './store/store.ts';

/** What can be done with a database, whichever its engine. */
export interface DatabaseTools {
  /** The database is made, and its schema brought up to date, unless `migrate` is `false`. */
  open: (publicUrl: string, migrate?: boolean) => Promise<Store>;
  /** Brings the schema up to date; resolves to its version before and after. */
  migrate: () => Promise<{ from: number; to: number }>;
  /** Looks at the database without changing it. */
  inspect: () => Promise<DatabaseFacts>;
  /** Writes a copy into a new file, while the server runs. PostgreSQL has its own command for that. */
  backup: (file: string, signal?: AbortSignal) => Promise<void>;
}

/**
 * For the database that the settings name.
 * @param onWait - Receives a line for a person when another process has to be waited for
 */
export function databaseTools(
  { database, databaseConnections: connections }: Settings,
  onWait?: (message: string) => void,
): DatabaseTools {
  if (database.engine === 'sqlite') {
    const { path } = database;
    return {
      open: (publicUrl, migrate) => sqlite.openSqliteStore({ path, publicUrl, migrate }),
      migrate: () => sqlite.migrateSqlite(path),
      inspect: async () => sqlite.inspectSqlite(path),
      backup: (file, signal) => sqlite.backupSqlite(path, file, signal),
    };
  }
  const { url } = database;
  return {
    open: async (publicUrl, migrate) =>
      (await loadPostgres(url)).openPostgresStore({ url, connections, publicUrl, onWait, migrate }),
    migrate: async () => (await loadPostgres(url)).migratePostgres(url, { onWait }),
    inspect: async () => (await loadPostgres(url)).inspectPostgres(url),
    backup: async (file) => {
      throw new ConfigError(
        `backup copies SQLite databases only; for PostgreSQL run: pg_dump --format=custom --file=${JSON.stringify(file)} "$SHORTLINK_DATABASE_URL"`,
      );
    },
  };
}

/** Loaded where it is used only, since the driver takes a while. It reads certificates when it connects, and its error would name no setting. */
function loadPostgres(url: string) {
  const { searchParams } = new URL(url);
  for (const name of ['sslrootcert', 'sslcert', 'sslkey']) {
    const file = searchParams.get(name);
    if (file) readNamed(`${name} of the database URL (--database, SHORTLINK_DATABASE_URL)`, file);
  }
  return import('./store/postgres/index.ts');
}

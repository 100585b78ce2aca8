import { ConfigError, readNamed, type Settings } from './settings.ts';
import type { DatabaseFacts } from './store/operator-store.ts';
import * as sqlite from './store/sqlite/index.ts';
import type { Store } from './store/store.ts';

/** Receives a line for a person when another process has to be waited for. */
type OnWait = (message: string) => void;

/** Opens the database that the settings name. It is made or migrated unless `migrate` is `false`. */
export async function openStore(
  settings: Settings & { publicUrl: string; migrate?: boolean },
  onWait?: OnWait,
): Promise<Store> {
  const { database, databaseConnections: connections, publicUrl, migrate } = settings;
  if (database.engine === 'sqlite') {
    return sqlite.openSqliteStore({ path: database.path, publicUrl, migrate });
  }
  const { openPostgresStore } = await loadPostgres(database.url);
  return openPostgresStore({ url: database.url, connections, publicUrl, onWait, migrate });
}

/** Brings the schema of the database up to date; resolves to its version before and after. */
export async function migrateDatabase(
  { database }: Settings,
  onWait?: OnWait,
): Promise<{ from: number; to: number }> {
  if (database.engine === 'sqlite') return sqlite.migrateSqlite(database.path);
  return (await loadPostgres(database.url)).migratePostgres(database.url, { onWait });
}

export async function inspectDatabase({ database }: Settings): Promise<DatabaseFacts> {
  if (database.engine === 'sqlite') return sqlite.inspectSqlite(database.path);
  return (await loadPostgres(database.url)).inspectPostgres(database.url);
}

/** Writes a copy of the database into a new file, while the server runs. PostgreSQL has its own command for that. */
export async function backupDatabase(
  { database }: Settings,
  file: string,
  signal?: AbortSignal,
): Promise<void> {
  if (database.engine !== 'sqlite') {
    throw new ConfigError(
      `backup copies SQLite databases only; for PostgreSQL run: pg_dump --format=custom --file=${JSON.stringify(file)} "$SHORTLINK_DATABASE_URL"`,
    );
  }
  await sqlite.backupSqlite(database.path, file, signal);
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

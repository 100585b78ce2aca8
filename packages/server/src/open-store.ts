import { ConfigError, type Settings } from './settings.ts';
import { backupSqlite, migrateSqlite, openSqliteStore } from './store/sqlite/index.ts';
import type { Store } from './store/store.ts';

/** Opens the database that the settings name; its short URLs begin with `publicUrl`. */
export async function openStore(settings: Settings & { publicUrl: string }): Promise<Store> {
  const { database, publicUrl } = settings;
  switch (database.engine) {
    case 'sqlite':
      return openSqliteStore({ path: database.path, publicUrl });
    case 'postgres': {
      const { openPostgresStore } = await loadPostgres();
      return openPostgresStore({ url: database.url, publicUrl });
    }
  }
}

/** Brings the schema of the database up to date; resolves to its version before and after. */
export async function migrateDatabase({
  database,
}: Settings): Promise<{ from: number; to: number }> {
  switch (database.engine) {
    case 'sqlite':
      return migrateSqlite(database.path);
    case 'postgres': {
      const { migratePostgres } = await loadPostgres();
      return migratePostgres(database.url);
    }
  }
}

/** Writes a copy of the database into a new file, while the server runs. PostgreSQL has its own command for that. */
export async function backupDatabase({ database }: Settings, file: string): Promise<void> {
  if (database.engine !== 'sqlite') {
    throw new ConfigError(
      `backup copies SQLite databases only; for PostgreSQL run: pg_dump --format=custom --file=${JSON.stringify(file)} "$SHORTLINK_DATABASE_URL"`,
    );
  }
  await backupSqlite(database.path, file);
}

/** Loaded where it is used only: the driver and the job queue take 70 ms, which every admin command on SQLite would wait. */
function loadPostgres() {
  return import('./store/postgres/index.ts');
}

import type { Settings } from './config.ts';
import { migrateSqlite, openSqliteStore } from './store/sqlite/index.ts';
import type { Store } from './store/store.ts';

/** Opens the database that the settings name; its short URLs begin with `publicUrl`. */
export function openStore(settings: Settings & { publicUrl: string }): Promise<Store> {
  const { database, publicUrl } = settings;
  switch (database.engine) {
    case 'sqlite':
      return openSqliteStore({ path: database.path, publicUrl });
  }
}

/** Brings the schema of the database up to date; resolves to its version before and after. */
export function migrateDatabase({ database }: Settings): Promise<{ from: number; to: number }> {
  switch (database.engine) {
    case 'sqlite':
      return migrateSqlite(database.path);
  }
}

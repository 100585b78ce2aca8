import { existsSync, statfsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { shortUrlMaker } from '../links.ts';
import type { MigrationReport } from '../migration.ts';
import type { DatabaseFacts } from '../operator-store.ts';
import { allDomains } from '../queries/accounts.ts';
import type { Store } from '../store.ts';
import { BUSY_TIMEOUT_MS, Database } from './database.ts';
import { migrate, migrations, schemaVersion } from './migrate.ts';
import { absolutePath, checkExists, checkWritable, openFile, watchPlace } from './open-file.ts';
import { inlineStore, sqliteStore } from './sqlite-store.ts';
import { ThreadWriter } from './writers.ts';

export { backupSqlite } from './backup.ts';

export interface SqliteStoreOptions {
  /** Path of the database file, made when there is none, or `:memory:`. Its directory must exist. */
  path: string;
  publicUrl: string;
  busyTimeoutMs?: number | undefined;
  /** `false`: nothing is made or migrated, and opening rejects where that would be needed. @default true */
  migrate?: boolean | undefined;
}

/** Opens the embedded database and brings its schema up to date. Several processes may open one file, such as a server and the admin commands. */
export async function openSqliteStore(options: SqliteStoreOptions): Promise<Store> {
  const { publicUrl, busyTimeoutMs = BUSY_TIMEOUT_MS, migrate: mayMigrate = true } = options;
  const path = absolutePath(options.path);
  const prepare = (db: Database) => migrate(db, migrations, Date.now(), mayMigrate);
  if (!mayMigrate) checkExists(path);
  if (path === ':memory:') return inlineStore(new Database({ path, prepare }), publicUrl);
  if (mayMigrate && existsSync(path)) checkWritable(path);
  const reader = openFile({ path, busyTimeoutMs, mayMigrate });
  try {
    prepare(reader);
    reader.exec('PRAGMA query_only = ON');
    const writer = new ThreadWriter({ path, publicUrl, busyTimeoutMs });
    // On a busy machine a thread may need a second to start, which is longer than clicks may wait.
    await writer.started;
    const openReader = () => new Database({ path, readOnly: true });
    const parts = { shortUrl: shortUrlMaker(publicUrl), isInPlace: watchPlace(path), openReader };
    return sqliteStore({ reader, writer, ...parts });
  } catch (error) {
    reader.close();
    throw error;
  }
}

/** Looks at a database without changing it. @throws StoreError also for one that can't be brought up to date */
export function inspectSqlite(file: string): DatabaseFacts {
  const path = absolutePath(file);
  checkExists(path);
  checkWritable(path);
  // A read-only connection would leave `-wal` and `-shm` beside a database that nobody else has open.
  using db = new Database({ path, prepare: (db) => db.exec('PRAGMA query_only = ON') });
  const { bavail, bsize } = statfsSync(dirname(path));
  const sizeOf = (of: string) => statSync(of, { throwIfNoEntry: false })?.size ?? 0;
  const disk = { used: sizeOf(path) + sizeOf(`${path}-wal`), free: bavail * bsize };
  const [version, newest] = [schemaVersion(db, migrations), migrations.at(-1)?.version ?? 0];
  return { version, newest, disk, domains: version === newest ? db.read(allDomains()) : [] };
}

export async function migrateSqlite(path: string): Promise<MigrationReport> {
  using db = openFile({ path: absolutePath(path), busyTimeoutMs: BUSY_TIMEOUT_MS });
  return migrate(db, migrations, Date.now());
}

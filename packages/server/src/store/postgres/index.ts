import { generateCode } from '../../domain/ids.ts';
import { databaseName } from '../../setting-values.ts';
import { shortUrlMaker } from '../links.ts';
import type { DatabaseFacts } from '../operator-store.ts';
import { allDomains } from '../queries/accounts.ts';
import { readAsync } from '../queries/reading.ts';
import type { Store } from '../store.ts';
import { Channel, endSoon } from './connection.ts';
import { Database } from './database.ts';
import { type MigrateOptions, migratePostgres, newClient, schemaVersion } from './migrate.ts';
import { migrations } from './migrations.ts';
import { toStoreError } from './postgres-errors.ts';
import { postgresStore } from './postgres-store.ts';

export { migratePostgres };

export interface PostgresStoreOptions extends Pick<MigrateOptions, 'onWait'> {
  /** `postgres://user:password@host:port/database`. The database must exist. */
  url: string;
  publicUrl: string;
  connections?: number | undefined;
  /** `false`: the schema is not changed, and opening rejects where it has to be. @default true */
  migrate?: boolean | undefined;
  generateCode?: (() => string) | undefined;
}

/** Opens a PostgreSQL database, 14 or newer, and brings its schema up to date. Any number of instances and admin commands may share one. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, publicUrl, connections, onWait, migrate: mayMigrate } = options;
  await migratePostgres(url, { onWait, mayMigrate });
  return postgresStore({
    db: new Database({ url, connections }),
    generateCode: options.generateCode ?? generateCode,
    shortUrl: shortUrlMaker(publicUrl),
  });
}

/** A user that may not write into the tables, or make them where there are none, can't run a server. An ordinary user sees how many sessions others have, but not of which kind each is. */
const FACTS = `SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now,
  least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
    (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
    (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())) AS most,
  (SELECT sum(numbackends)::int FROM pg_stat_database) AS used,
  (SELECT coalesce(bool_and(has_table_privilege(format('%I.%I', schemaname, tablename), needed)), has_schema_privilege(current_schema(), 'CREATE'), false)
    FROM pg_tables, unnest(ARRAY['INSERT', 'UPDATE', 'DELETE']) needed WHERE schemaname = current_schema() AND tablename IN ('links', 'link_clicks', 'jobs')) AS writable`;

/** Looks at a database without changing it. @throws StoreError also for one that can't be brought up to date */
export async function inspectPostgres(url: string): Promise<DatabaseFacts> {
  const name = databaseName({ engine: 'postgres', url });
  const client = newClient(url, 'read');
  try {
    await client.connect();
    const channel = await Channel.open(client, 'read', name);
    const version = await schemaVersion(client, name, migrations);
    const newest = migrations.at(-1)?.version ?? 0;
    const domains =
      version === newest ? await readAsync(allDomains(), (one) => channel.single(one)) : [];
    const askedAt = Date.now();
    const { now, ...connections } = (await client.query(FACTS)).rows[0];
    return {
      ...{ version, newest, isPooled: channel.isPooled, connections, domains },
      clockAheadMs: Math.round(now - (askedAt + Date.now()) / 2),
    };
  } catch (error) {
    throw toStoreError(error, name);
  } finally {
    await endSoon(client.end());
  }
}

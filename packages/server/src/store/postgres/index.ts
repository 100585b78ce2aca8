import { setTimeout as delay } from 'node:timers/promises';
import { Client, Pool, type PoolClient } from 'pg';
import { generateCode } from '../../domain/ids.ts';
import { databaseName } from '../../setting-values.ts';
import { shortUrlMaker } from '../links.ts';
import type { MigrationReport } from '../migration.ts';
import type { DatabaseFacts } from '../operator-store.ts';
import { allDomains } from '../queries/accounts.ts';
import { readAsync } from '../queries/reading.ts';
import type { Store } from '../store.ts';
import { Channel, connectionConfig, endSoon } from './connection.ts';
import { Database } from './database.ts';
import {
  ASK_MS,
  type MigrateOptions,
  migrate,
  migrations,
  REPORT_AFTER_MS,
  schemaVersion,
  WAIT_MS,
} from './migrate.ts';
import { isRefused, toStoreError } from './postgres-errors.ts';
import { postgresStore } from './postgres-store.ts';
import type { Run } from './statement.ts';

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

/** Brings the schema up to date. A process that the database refuses a connection, since others have all, waits in line as calls do. */
export async function migratePostgres(
  url: string,
  options: Pick<MigrateOptions, 'onWait' | 'waitMs' | 'mayMigrate'> = {},
): Promise<MigrationReport> {
  const name = databaseName({ engine: 'postgres', url });
  let { onWait } = options;
  const startedAt = performance.now();
  for (;;) {
    const [client, lockHolder] = [newClient(url), newClient(url)];
    try {
      await client.connect();
      return await migrate(client, migrations, { ...options, name, lockHolder, now: Date.now() });
    } catch (error) {
      const waitedMs = performance.now() - startedAt;
      if (!isRefused(error) || waitedMs >= (options.waitMs ?? WAIT_MS)) {
        throw toStoreError(error, name);
      }
      if (waitedMs >= REPORT_AFTER_MS) {
        onWait?.(`waiting for a connection: the database ${name} has none left`);
        onWait = undefined;
      }
    } finally {
      await Promise.all([endSoon(client.end()), endSoon(lockHolder.end())]);
    }
    await delay(ASK_MS);
  }
}

function newClient(url: string): Client {
  const client = new Client(connectionConfig(url));
  // The statement that is under way learns of the loss.
  client.on('error', () => undefined);
  return client;
}

/** An ordinary user sees how many sessions others have, but not of which kind each is. */
const FACTS = `SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS now,
  least(current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int,
    (SELECT nullif(rolconnlimit, -1) FROM pg_roles WHERE rolname = current_user),
    (SELECT nullif(datconnlimit, -1) FROM pg_database WHERE datname = current_database())) AS most,
  (SELECT sum(numbackends)::int FROM pg_stat_database) AS used`;

/** Looks at a database without changing it. */
export async function inspectPostgres(url: string): Promise<DatabaseFacts> {
  const name = databaseName({ engine: 'postgres', url });
  const pool = new Pool({ ...connectionConfig(url, 'read'), max: 1 });
  pool.on('error', () => undefined);
  let client: PoolClient | undefined;
  try {
    client = await pool.connect();
    client.on('error', () => undefined);
    const channel = await Channel.open(client, 'read', name);
    const [version, newest] = [await schemaVersion(client, name), migrations.at(-1)?.version ?? 0];
    const run: Run = (statement) => channel.single(statement);
    const askedAt = Date.now();
    const { now, ...connections } = (await client.query(FACTS)).rows[0];
    return {
      ...{ version, newest, isPooled: channel.isPooled },
      domains: version === newest ? await readAsync(allDomains(), run) : [],
      clockAheadMs: Math.round(now - (askedAt + Date.now()) / 2),
      connections,
    };
  } catch (error) {
    throw toStoreError(error, name);
  } finally {
    client?.release(true);
    await endSoon(pool.end());
  }
}

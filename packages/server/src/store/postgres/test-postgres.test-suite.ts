import { spawn } from 'node:child_process';
import { Client } from 'pg';
import { afterAll, beforeAll } from 'vitest';
import { execute, type PostgresProcess, startPostgres } from '../../../test/start-postgres.ts';
import { migratePostgres } from './index.ts';

export { execute };

/** The server of this process. Its test files use it one after the other: to start one takes longer than many files' tests. */
let shared: Promise<PostgresProcess> | undefined;

async function startShared(): Promise<PostgresProcess> {
  // Without fsync: a test's database need not outlive a power cut.
  const server = await startPostgres(['fsync=off']);
  endWithProcess(await server.pid(), server.folder);
  return server;
}

/**
 * Ends a server, and removes its folder, when this process has ended. The process is killed once its last file is done, so that nothing of its own
 * runs then: a shell that reads from it notices.
 */
function endWithProcess(pid: number, folder: string): void {
  const end = `read -r _; kill -INT ${pid}; while kill -0 ${pid}; do sleep 0.1; done; rm -rf -- "$0"`;
  const shell = spawn('sh', ['-c', end, folder], {
    // Ctrl-C in a terminal would end it before the server.
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  shell.unref();
}

/**
 * Gives a group of tests a PostgreSQL, and answers URLs of new databases on it: that of this process, or the existing server
 * that SHORTLINK_TEST_DATABASE_URL names, whose user must be allowed to create databases. Afterwards its databases are dropped.
 *
 * A database is empty, or a copy of another one of this server that nobody is connected to.
 */
export function usePostgres(): {
  newDatabase: (original?: string) => Promise<string>;
  /** The same with our tables in it. */
  newSchema: () => Promise<string>;
} {
  let url: string | undefined;
  let databases = 0;
  const made: string[] = [];
  /** To copy a database with all tables takes half as long as to create them. */
  let migrated: Promise<string> | undefined;
  beforeAll(async () => {
    url = process.env['SHORTLINK_TEST_DATABASE_URL'];
    if (url === undefined) {
      shared ??= startShared();
      ({ url } = await shared);
    }
  });
  afterAll(async () => {
    if (url !== undefined) await dropDatabases(url, made);
  });
  const newDatabase = async (original?: string) => {
    if (url === undefined) throw new Error('PostgreSQL runs within tests only.');
    databases += 1;
    const name = `shortlink_test_${process.pid}_${Date.now()}_${databases}`;
    const template = original === undefined ? 'template1' : new URL(original).pathname.slice(1);
    // Without a log of the copied pages, which takes twice as long.
    await execute(url, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
    made.push(name);
    return Object.assign(new URL(url), { pathname: `/${name}` }).href;
  };
  const newMigrated = async () => {
    const database = await newDatabase();
    await migratePostgres(database);
    return database;
  };
  return {
    newDatabase,
    newSchema: async () => {
      migrated ??= newMigrated();
      return newDatabase(await migrated);
    },
  };
}

async function dropDatabases(url: string, names: readonly string[]): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    for (const name of names) await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  } finally {
    await client.end();
  }
}

import { afterAll, beforeAll } from 'vitest';
import { execute, startPostgres } from '../../../test/start-postgres.ts';
import { migratePostgres } from './index.ts';

export { execute };

/**
 * Gives a group of tests a PostgreSQL, and answers URLs of new databases on it: one of its own, or the existing server
 * that SHORTLINK_TEST_DATABASE_URL names, whose user must be allowed to create databases.
 *
 * A database is empty, or a copy of another one of this server that nobody is connected to.
 */
export function usePostgres(): {
  newDatabase: (original?: string) => Promise<string>;
  /** The same with our tables in it. */
  newSchema: () => Promise<string>;
} {
  let server: { url: string; remove: () => Promise<void> } | undefined;
  let databases = 0;
  const made: string[] = [];
  beforeAll(async () => {
    const existing = process.env['SHORTLINK_TEST_DATABASE_URL'];
    server =
      existing === undefined
        ? // Without fsync: a test's database need not outlive a power cut.
          await startPostgres(['fsync=off'])
        : { url: existing, remove: () => dropDatabases(existing, made) };
  });
  afterAll(async () => {
    await server?.remove();
  });
  const newDatabase = async (original?: string) => {
    if (server === undefined) throw new Error('PostgreSQL runs within tests only.');
    databases += 1;
    const name = `shortlink_test_${process.pid}_${Date.now()}_${databases}`;
    const template = original === undefined ? 'template1' : new URL(original).pathname.slice(1);
    // Without a log of the copied pages, which takes twice as long.
    await execute(server.url, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
    made.push(name);
    return Object.assign(new URL(server.url), { pathname: `/${name}` }).href;
  };
  return {
    newDatabase,
    newSchema: async () => {
      const url = await newDatabase();
      await migratePostgres(url);
      return url;
    },
  };
}

async function dropDatabases(url: string, names: readonly string[]): Promise<void> {
  for (const name of names) await execute(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

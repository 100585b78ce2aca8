import { afterAll, beforeAll } from 'vitest';
import { execute, startPostgres } from '../../../test/start-postgres.ts';

export { execute };

/**
 * Gives a group of tests a PostgreSQL, and answers URLs of empty databases on it: one of its own, or the existing server
 * that SHORTLINK_TEST_DATABASE_URL names, whose user must be allowed to create databases.
 */
export function usePostgres(): { newDatabase: () => Promise<string> } {
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
  }, 60_000);
  // Dropping the databases of a whole suite on an existing server takes longer than a hook may by default.
  afterAll(async () => {
    await server?.remove();
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

async function dropDatabases(url: string, names: readonly string[]): Promise<void> {
  for (const name of names) await execute(url, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
}

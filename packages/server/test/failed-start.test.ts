import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { migratePostgres } from '../src/store/postgres/index.ts';
import { execute, usePostgres } from '../src/store/postgres/test-postgres.test-suite.ts';
import { Database } from '../src/store/sqlite/database.ts';
import { migrateSqlite } from '../src/store/sqlite/index.ts';
import { useProcesses } from './server-process.ts';

const { run, folder } = useProcesses();
const { newDatabase } = usePostgres();

/** The outcome of a start that fails once the database is open; a process that never ends is one too. */
async function start(database: string, ...flags: string[]): Promise<unknown> {
  const env = { SHORTLINK_DATABASE_URL: database };
  const { ended, log } = run(['start', '--port', '0', ...flags], env);
  const tooLong = sleep(90_000, undefined, { ref: false });
  return Promise.race([ended, tooLong.then(() => `still runs: ${log()}`)]);
}

test.each([[[]], [['--workers', '2']]])(
  'a start that can not make the account of --dev ends the process, with %j',
  async (flags) => {
    const url = await newDatabase();
    await migratePostgres(url);
    const name = new URL(url).pathname.slice(1);
    await execute(url, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
    expect(await start(url, '--dev', ...flags)).toMatchObject({ code: 1 });
  },
);

test('a start that can not read the jobs ends the process, on PostgreSQL', async () => {
  const url = await newDatabase();
  await migratePostgres(url);
  await execute(url, 'ALTER TABLE jobs RENAME TO lost');
  expect(await start(url)).toMatchObject({ code: 1, stderr: expect.stringContaining('jobs') });
});

test.each([[[]], [['--workers', '2']]])(
  'a start that can not read the jobs ends the process, on SQLite, with %j',
  async (flags) => {
    const path = join(folder(), 'x.db');
    await migrateSqlite(path);
    const db = new Database({ path });
    db.exec('ALTER TABLE jobs RENAME TO lost');
    db.close();
    expect(await start(`sqlite:${path}`, ...flags)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^[^\n]*jobs\n(?:error: the server did not start: [^\n]*\n)?$/),
    });
  },
);

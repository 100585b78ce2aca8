import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import process from 'node:process';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { migratePostgres } from '../src/store/postgres/index.ts';
import { execute, usePostgres } from '../src/store/postgres/test-postgres.test-suite.ts';
import { Database } from '../src/store/sqlite/database.ts';
import { migrateSqlite } from '../src/store/sqlite/index.ts';
import { useProcesses } from './server-process.ts';
import { mayBeEnteredByAll } from './start-postgres.ts';

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
      stderr: expect.stringMatching(
        /^[^\n]*jobs\.\n(?:error: the server did not start: [^\n]*\n)?$/,
      ),
    });
  },
);

/** Root may write every file, so that there the program runs as `nobody`, unless it is in a folder that only root may enter. */
const isRoot = process.getuid?.() === 0;
const mayBeNobody = isRoot && (await mayBeEnteredByAll(import.meta.dirname));

test.runIf(isRoot && mayBeNobody)(
  'a database that root made in a folder of its own is named with its owner by whoever may not use it',
  async () => {
    const path = join(folder(), 'x.db');
    await migrateSqlite(path);
    const nobody = { uid: 65_534 };
    const failureOf = async (...command: string[]) => {
      const { child, ended } = run(command, {}, nobody);
      let printed = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
      });
      const { code, stderr } = await ended;
      expect(code, command[0]).toBe(1);
      return printed + stderr;
    };
    await chmod(folder(), 0o777);
    const owner = `The database ${path} can not be read and written by this user: it belongs to the user 0`;
    expect(await failureOf('start', '--port', '0')).toContain(owner);
    expect(await failureOf('doctor')).toContain(owner);
    await chmod(folder(), 0o700);
    const hidden = `There is no database ${path}, or this user may not enter its folder`;
    expect(await failureOf('doctor')).toContain(hidden);
    expect(await failureOf('accounts', 'list')).toContain(hidden);
  },
);

test.skipIf(isRoot && !mayBeNobody)(
  'a database that can only be read ends the start, and doctor says so',
  async () => {
    const path = join(folder(), 'x.db');
    await migrateSqlite(path);
    await chmod(folder(), 0o777);
    await chmod(path, isRoot ? 0o444 : 0o400);
    const user = isRoot ? { uid: 65_534 } : {};
    const message = `The database ${path} can not be read and written by this user`;
    for (const command of [
      ['start', '--port', '0'],
      ['accounts', 'create', '--init', '--name=x', '--plan=pro'],
      ['doctor', '--json'],
    ]) {
      const { child, ended } = run(command, {}, user);
      let printed = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
        // It serves.
        if (text.startsWith('listening')) child.kill();
      });
      const { code, stderr } = await ended;
      expect(code, command[0]).toBe(1);
      expect(printed + stderr).toContain(message);
    }
    expect((await run(['accounts', 'list'], {}, user).ended).code).toBe(0);
  },
);

import { Client } from 'pg';
import { expect, test } from 'vitest';
import { MIGRATION_LOCK } from '../../src/store/postgres/migrate.ts';
import { usePostgres } from '../../src/store/postgres/test-postgres.test-suite.ts';
import { useProcesses } from '../server-process.ts';

const { newDatabase } = usePostgres();
const { run } = useProcesses();

const CREATE = ['accounts', 'create', '--init', '--name', 'x', '--plan', 'pro'];

test.each([[CREATE], [['migrate']], [['start', '--port', '0']]])(
  '%j says that another process changes the schema, and continues after it',
  async (args) => {
    const url = await newDatabase();
    const holder = new Client({ connectionString: url });
    await holder.connect();
    await holder.query('SELECT pg_advisory_lock($1)', [MIGRATION_LOCK]);
    const { child, ended, log } = run(args, { SHORTLINK_DATABASE_URL: url });
    let out = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text;
    });
    await expect.poll(log).toContain('waiting for another process');
    expect(out).toBe('');
    await holder.query('SELECT pg_advisory_unlock($1)', [MIGRATION_LOCK]);
    await expect.poll(() => out).not.toBe('');
    if (args[0] === 'start') child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
    await holder.end();
  },
);

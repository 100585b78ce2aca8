import { expect, test } from 'vitest';
import { databaseTools } from './open-store.ts';
import { readSettings } from './settings.ts';
import { PUBLIC_URL } from './store/contract/fixtures.test-suite.ts';
import { usePostgres } from './store/postgres/test-postgres.test-suite.ts';

const { newSchema } = usePostgres();

test('a store on PostgreSQL has as many connections as the settings say', async () => {
  const env = { SHORTLINK_DATABASE_URL: await newSchema(), SHORTLINK_DATABASE_CONNECTIONS: '7' };
  const store = await databaseTools(readSettings({}, env)).open(PUBLIC_URL);
  expect(store.connections?.()).toEqual({ busy: 0, idle: 0, free: 7 });
  await store.close();
});

test.each(['sslrootcert', 'sslcert', 'sslkey'])(
  'a %s that can not be read is said before the driver is asked, which names no setting',
  async (name) => {
    const url = `postgres://u:secret@127.0.0.1:1/d?${name}=/nowhere/x.pem`;
    const tools = databaseTools(readSettings({}, { SHORTLINK_DATABASE_URL: url }));
    await expect(tools.inspect()).rejects.toThrow(
      `${name} of the database URL (--database, SHORTL`,
    );
  },
);

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { newCaller, PUBLIC_URL, pruneEverything } from '../contract/fixtures.test-suite.ts';
import { testStoreContract } from '../contract.test-suite.ts';
import { openPostgresStore } from './index.ts';
import { execute, usePostgres } from './test-postgres.test-suite.ts';

const { newSchema } = usePostgres();

testStoreContract('PostgreSQL', async () =>
  openPostgresStore({ url: await newSchema(), publicUrl: PUBLIC_URL }),
);

test('pruning leaves no old row in any table that only remembers', async () => {
  const url = await newSchema();
  const store = await openPostgresStore({ url, publicUrl: PUBLIC_URL });
  const count = async () => {
    const tables = await execute(
      url,
      `SELECT tablename AS name, (xpath('/row/n/text()', query_to_xml(format('SELECT count(*) AS n FROM %I', tablename),
         false, true, '')))[1]::text::int AS rows
       FROM pg_tables WHERE schemaname = current_schema()`,
    );
    return new Map(tables.map(({ name, rows }) => [String(name), Number(rows)] as const));
  };
  expect(await pruneEverything(store, count)).toEqual({ unused: [], unpruned: [] });
  await store.close();
});

test('what a call has returned is not kept', async () => {
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  const store = await openPostgresStore({ url: await newSchema(), publicUrl: PUBLIC_URL });
  await newCaller(store);
  const returned = new WeakRef(await store.listAccounts());
  await new Promise((next) => setTimeout(next, 10));
  collectGarbage();
  expect(returned.deref()).toBeUndefined();
  await store.close();
});

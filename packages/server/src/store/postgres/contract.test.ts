import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, test } from 'vitest';
import { newCaller, PUBLIC_URL, pruneEverything } from '../contract/fixtures.test-suite.ts';
import { testStoreContract } from '../contract.test-suite.ts';
import { openPostgresStore } from './index.ts';
import { execute, usePostgres } from './test-postgres.test-suite.ts';

const { newSchema } = usePostgres();

/** Makes every table as the migrations leave it. No trigger notes what is deleted. */
const EMPTY = `DO $$ DECLARE name text; BEGIN
  SET LOCAL session_replication_role = replica;
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() LOOP
    IF name <> 'schema_migrations' THEN EXECUTE format('DELETE FROM %I', name); END IF;
  END LOOP;
  FOR name IN SELECT sequencename FROM pg_sequences LOOP
    EXECUTE format('ALTER SEQUENCE %I RESTART', name);
  END LOOP;
  INSERT INTO link_changes (code) VALUES (NULL);
END $$`;

/** The database of all tests here, one after the other: to copy one takes several times as long as to empty it. */
let database: Promise<string> | undefined;

testStoreContract('PostgreSQL', async () => {
  database ??= newSchema();
  const url = await database;
  await execute(url, EMPTY);
  return openPostgresStore({ url, publicUrl: PUBLIC_URL });
});

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

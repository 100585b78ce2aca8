import { expect, test } from 'vitest';
import {
  finishJob,
  NOW,
  newCaller,
  newJob,
  newLinks,
  PUBLIC_URL,
  pruneEverything,
} from '../contract/fixtures.test-suite.ts';
import { testStoreContract } from '../contract.test-suite.ts';
import { sqlText } from '../queries/reading.ts';
import { Database } from './database.ts';
import { openSqliteStore } from './index.ts';
import { useDatabasePath } from './temp-database.test-suite.ts';

const path = useDatabasePath();

// What several calls do at once, which a file leaves to a thread that writes and to another connection that reads. The rest is the same SQL as in
// memory; its way through the thread is tested by what uses a file: the commands of the operator, the moving of links, and real servers.
testStoreContract(
  'SQLite in a file',
  () => openSqliteStore({ path: path(), publicUrl: PUBLIC_URL }),
  ['admission', 'creating links', 'idempotency', 'jobs'],
);

test('an export is of one moment, whatever is written while it is read', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  await finishJob(store, await newJob(store, caller, 1_500));
  let exported = 0;
  await store.exportLinks(undefined, async (links) => {
    exported += links.length;
    await store.createBatch({ caller, input: newLinks(100), now: NOW });
  });
  expect(exported).toBe(1_500);
  await store.close();
});

test('pruning leaves no old row in any table that only remembers', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const db = new Database({ path: path(), readOnly: true });
  const count = async () => {
    const tables = db.all<{ name: string }>(
      sqlText(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'`),
    );
    return new Map(
      tables.map(({ name }) => [name, db.all(sqlText(`SELECT 1 FROM ${name}`)).length] as const),
    );
  };
  expect(await pruneEverything(store, count)).toEqual({ unused: [], unpruned: [] });
  db.close();
  await store.close();
});

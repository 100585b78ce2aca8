import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import {
  NOW,
  newCaller,
  newLink,
  PUBLIC_URL,
} from '../../src/store/contract/fixtures.test-suite.ts';
import { openSqliteStore } from '../../src/store/sqlite/index.ts';
import { useDatabasePath } from '../../src/store/sqlite/temp-database.test-suite.ts';

const SHORT_PROCESS = fileURLToPath(new URL('./short-process.ts', import.meta.url));
const databasePath = useDatabasePath();

/** Runs one admin-like step in a process of its own and answers what it printed. */
async function runProcess(...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [SHORT_PROCESS, ...args]);
  return stdout.trim();
}

test('processes that start at once on a new file migrate it once and all work', async () => {
  const path = databasePath();
  const names = Array.from({ length: 6 }, (_, n) => `account ${n}`);
  await Promise.all(names.map((name) => runProcess(path, 'create-account', name)));
  const store = await openSqliteStore({ path, publicUrl: PUBLIC_URL });
  const accounts = await store.listAccounts();
  expect(accounts.map((account) => account.name).toSorted()).toEqual(names);
  await store.close();
});

test('another process changes a link while this one writes without pause', async () => {
  const path = databasePath();
  const store = await openSqliteStore({ path, publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  const outcome = await store.createLink({ caller, input: newLink(), now: NOW });
  if (!outcome.ok) throw new Error(outcome.reason);
  const { code } = outcome.value;

  let writing = true;
  let created = 0;
  const writers = Array.from({ length: 20 }, async () => {
    while (writing) {
      await store.createLink({ caller, input: newLink(), now: NOW });
      created += 1;
    }
  });
  const before = created;
  expect(await runProcess(path, 'disable-link', code)).toBe('disabled');
  expect(await store.findRedirect(code)).toMatchObject({ is_active: false });
  expect(created).toBeGreaterThan(before);
  writing = false;
  await Promise.all(writers);
  expect((await store.usage(caller.accountId, NOW)).links.used).toBe(created + 1);
  await store.close();
});

test('a limit holds over processes', async () => {
  const path = databasePath();
  const store = await openSqliteStore({ path, publicUrl: PUBLIC_URL });
  const { accountId } = await newCaller(store, { requests_per_minute: 100, links: 50 });
  const counts = await Promise.all(
    [1, 2, 3].map(async () => (await runProcess(path, 'use-up', accountId)).split(' ').map(Number)),
  );
  const total = (column: number) => counts.reduce((sum, count) => sum + (count[column] ?? 0), 0);
  expect(total(0)).toBe(100);
  expect(total(1)).toBe(50);
  await store.close();
});

import { Client } from 'pg';
import { expect, test } from 'vitest';
import {
  linksUsed,
  NOW,
  newCaller,
  newLink,
  newLinks,
  PUBLIC_URL,
} from '../contract/fixtures.test-suite.ts';
import { rowOf, sql } from '../queries/reading.ts';
import type { Store } from '../store.ts';
import { useCuttingProxy } from './cutting-proxy.test-suite.ts';
import { Database } from './database.ts';
import { openPostgresStore } from './index.ts';
import { execute, usePostgres } from './test-postgres.test-suite.ts';

const { newSchema } = usePostgres();
const newProxy = useCuttingProxy();

async function setUp() {
  const directUrl = await newSchema();
  const proxy = await newProxy(directUrl);
  const store = await openPostgresStore({ url: proxy.url, publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  const created = await store.createLink({ caller, input: newLink(), now: NOW });
  if (!created.ok) throw new Error(created.reason);
  return { store, proxy, directUrl, caller, code: created.value.code };
}

/** Codes that the database really holds. */
async function storedCodes(url: string): Promise<string[]> {
  return (await execute(url, 'SELECT code FROM links'))
    .map((row) => String(row['code']))
    .toSorted();
}

test('a database that hangs fails every call, and everything works again by itself', async () => {
  const { store, proxy, directUrl, caller, code } = await setUp();
  proxy.swallow(true);
  const calls: Promise<unknown>[] = [];
  for (let n = 0; n < 100; n += 1) {
    calls.push(store.createLink({ caller, input: newLink(n), now: NOW }));
    calls.push(store.findRedirect(code));
    calls.push(store.admit(caller, NOW));
  }
  calls.push(store.pendingJobs(), store.usage(caller.accountId, NOW));
  const outcomes = await Promise.allSettled(calls);
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(['rejected']));
  for (const outcome of outcomes) {
    expect(outcome).toMatchObject({ reason: { name: 'StoreError' } });
  }
  expect(store.isHealthy()).toBe(false);
  proxy.swallow(false);
  await expect
    .poll(() => store.createLink({ caller, input: newLink(), now: NOW }).then(isOk, () => false))
    .toBe(true);
  await expect.poll(() => store.findRedirect(code).then(Boolean, () => false)).toBe(true);
  expect(store.isHealthy()).toBe(true);
  expect(await storedCodes(directUrl)).toHaveLength(2);
  await store.close();
});

test('the server itself ends a statement that takes too long, and the connection stays in use', async () => {
  const url = await newSchema();
  const db = new Database({ url });
  const pid = sql`SELECT pg_backend_pid() AS pid`;
  const before = await db.read(rowOf(pid));
  const sleep = sql`SELECT pg_sleep(60)`;
  const tooLong = { name: 'StoreError', reason: 'busy' };
  await Promise.all([
    expect(db.read(rowOf(sleep))).rejects.toMatchObject(tooLong),
    expect(db.write((run) => run(sleep))).rejects.toMatchObject(tooLong),
  ]);
  const running = await execute(
    url,
    `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`,
  );
  expect(running).toEqual([]);
  expect(await db.read(rowOf(pid))).toEqual(before);
  await db.close();
});

test('reads have connections of their own: writes that use up theirs hold no read up', async () => {
  const url = await newSchema();
  const db = new Database({ url });
  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query('SELECT pg_advisory_lock(1)');
  let ended = 0;
  const writes = Array.from({ length: 10 }, async () => {
    await db.write(async (run) => {
      await run(sql`SET LOCAL lock_timeout = 0`);
      await run(sql`SET LOCAL statement_timeout = 0`);
      await run(sql`SELECT pg_advisory_xact_lock(1)`);
    });
    ended += 1;
  });
  const waiting = () =>
    holder.query(
      `SELECT FROM pg_locks JOIN pg_database ON pg_database.oid = database
        WHERE datname = current_database() AND locktype = 'advisory' AND NOT granted`,
    );
  await expect.poll(async () => (await waiting()).rowCount).toBe(10);
  await db.read(rowOf(sql`SELECT 1`));
  await db.snapshot((run) => run(sql`SELECT 1`));
  expect(ended).toBe(0);
  await holder.query('SELECT pg_advisory_unlock(1)');
  await Promise.all(writes);
  await holder.end();
  await db.close();
});

test('a slow database slows calls down and fails none', async () => {
  const { store, proxy, directUrl, caller } = await setUp();
  proxy.delay(30);
  const outcomes = await Promise.all(
    newLinks(60).map((input, n) => {
      const idempotency = { key: `k${n}`, fingerprint: 'f' };
      const request = { caller, input, now: NOW, ...(n % 2 === 0 && { idempotency }) };
      return store.createLink(request);
    }),
  );
  expect(outcomes.filter(isOk)).toHaveLength(60);
  const batch = await store.createBatch({ caller, input: newLinks(100), now: NOW });
  expect(batch).toMatchObject({ ok: true });
  proxy.delay(0);
  expect(await storedCodes(directUrl)).toHaveLength(161);
  await store.close();
});

test('after a failover, connections to the node that only reads are replaced as soon as a writable one responds', async () => {
  const { store, directUrl, caller, code } = await setUp();
  const [database] = await execute(directUrl, 'SELECT current_database() AS name');
  const name = String(database?.['name']);
  await execute(directUrl, `ALTER DATABASE ${name} SET default_transaction_read_only = on`);
  await endSessions(directUrl);
  const readOnly = { name: 'StoreError', reason: 'read_only' };
  for (let n = 0; n < 3; n += 1) {
    const create = store.createLink({ caller, input: newLink(), now: NOW });
    await expect(create).rejects.toMatchObject(readOnly);
    await expect(store.admit(caller, NOW)).rejects.toMatchObject(readOnly);
    await expect(store.addClicks(new Map([[code, 1]]))).rejects.toMatchObject(readOnly);
    // The node may lag behind, so what must be up to date is not read there.
    await expect(store.pendingJobs()).rejects.toMatchObject(readOnly);
    // What only reads goes on meanwhile.
    expect(await store.findRedirect(code)).toBeDefined();
  }
  expect(store.isHealthy()).toBe(false);
  const [old] = await execute(directUrl, 'SELECT now() AS time');
  await execute(writable(directUrl), `ALTER DATABASE ${name} RESET default_transaction_read_only`);
  const created = await store.createLink({ caller, input: newLink(), now: NOW });
  expect(created).toMatchObject({ ok: true });
  expect(await store.admit(caller, NOW)).toMatchObject({ admitted: true });
  await Promise.all(Array.from({ length: 20 }, () => store.findRedirect(code)));
  expect(store.isHealthy()).toBe(true);
  const since = Number(old?.['time']);
  // A session is listed until its process has come to end.
  const older = async () => {
    const sessions = await execute(
      directUrl,
      `SELECT backend_start FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`,
    );
    return sessions.filter((row) => Number(row['backend_start']) < since);
  };
  await expect.poll(older).toEqual([]);
  expect(await linksUsed(store, caller)).toBe(2);
  await store.close();
});

test('a connection whose node turns read-only under it is replaced', async () => {
  const { store, directUrl, caller } = await setUp();
  const settings = async (value: string) => {
    await execute(writable(directUrl), `ALTER SYSTEM ${value}`);
    await execute(directUrl, 'SELECT pg_reload_conf()');
  };
  const create = () =>
    store.createLink({ caller, input: newLink(), now: NOW }).then(isOk, ({ reason }) => reason);
  const sessions = async (condition: string) => {
    const found = await execute(
      directUrl,
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND ${condition}`,
    );
    return found.map((row) => Number(row['pid']));
  };
  const writing = await sessions("query = 'COMMIT'");
  expect(writing).not.toEqual([]);
  try {
    await settings('SET default_transaction_read_only = on');
    await expect.poll(create).toBe('read_only');
    // A connection that stays leads to the old node for ever, even when the address leads to a new one.
    await expect.poll(() => sessions(`pid IN (${writing.join(',')})`)).toEqual([]);
  } finally {
    await settings('RESET default_transaction_read_only');
  }
  await expect.poll(create).toBe(true);
  await store.close();
});

test('in a group of simultaneous creates that the plan has no room for, one failure is the failure of one', async () => {
  let draws = 0;
  const url = await newSchema();
  const store = await openPostgresStore({
    url,
    publicUrl: PUBLIC_URL,
    generateCode: () => {
      draws += 1;
      if (draws === 9) throw new Error('no entropy');
      return `code${String(draws).padStart(3, '0')}`;
    },
  });
  const caller = await newCaller(store, { links: 20 });
  const outcomes = await createAtOnce(store, newLinks(40), caller);
  expect(await storedCodes(url)).toEqual(acknowledgedCodes(outcomes));
  expect(acknowledgedCodes(outcomes)).toHaveLength(20);
  expect(await linksUsed(store, caller)).toBe(20);
  await store.close();
});

test('what is acknowledged is what is stored, when the connection is lost amid creates that the plan has no room for', async () => {
  const { store, proxy, directUrl, caller } = await setUp();
  const limited = { ...caller, limits: { ...caller.limits, links: 31 } };
  proxy.cuts.push('after COMMIT', 'before COMMIT', 'after COMMIT', 'before COMMIT');
  const outcomes = await createAtOnce(store, newLinks(90), limited);
  expect(acknowledgedCodes(outcomes)).toHaveLength(30);
  expect(await storedCodes(directUrl)).toHaveLength(31);
  expect(await storedCodes(directUrl)).toEqual(expect.arrayContaining(acknowledgedCodes(outcomes)));
  await store.close();
});

test('text that PostgreSQL can not hold is not found, or refused, and takes no other create with it', async () => {
  const { store, caller } = await setUp();
  const nul = 'a\0b';
  expect(await store.findRedirect(nul)).toBeUndefined();
  expect(await store.findLink(nul)).toBeUndefined();
  expect(await store.setLinkActive('nobody', false)).toBeUndefined();
  expect(await store.findAccount(nul)).toBeUndefined();
  expect(await store.listKeys(nul)).toEqual([]);
  expect(await store.findJob(caller.accountId, nul)).toBeUndefined();
  expect(await store.ownedDomains(nul)).toEqual(new Set());
  const invalid = { name: 'StoreError', reason: 'invalid' };
  const hostname = store.addDomain({ hostname: nul, accountId: caller.accountId, now: NOW });
  await expect(hostname).rejects.toMatchObject(invalid);
  const bad = { target_url: `https://example.com/${nul}` };
  const outcomes = await createAtOnce(
    store,
    newLinks(9).map((link, n) => (n === 4 ? { ...link, ...bad } : link)),
    caller,
  );
  expect(outcomes.map(({ status }) => status === 'fulfilled')).toEqual(
    outcomes.map((_, n) => n !== 4),
  );
  expect(outcomes[4]).toMatchObject({ reason: invalid });
  const title = store.createLink({ caller, input: newLink(0, { title: nul }), now: NOW });
  await expect(title).rejects.toMatchObject(invalid);
  await store.close();
});

test('creates that are tried one by one, since one of them failed the others, take one connection', async () => {
  const url = await newSchema();
  const store = await openPostgresStore({ url, publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  const bad = { target_url: 'https://example.com/a\0b' };
  let isDone = false;
  const creating = createAtOnce(store, [...newLinks(60), newLink(0, bad)], caller).finally(() => {
    isDone = true;
  });
  let busy = 0;
  while (!isDone) {
    busy = Math.max(busy, store.connections?.().busy ?? 0);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(acknowledgedCodes(await creating)).toHaveLength(60);
  expect(busy).toBe(1);
  await store.close();
});

/** For the test's own statements, whatever the node says to others. */
function writable(url: string): string {
  const withOption = new URL(url);
  withOption.searchParams.set('options', '-c default_transaction_read_only=off');
  return withOption.href;
}

type Creates = PromiseSettledResult<Awaited<ReturnType<Store['createLink']>>>[];

function createAtOnce(
  store: Store,
  inputs: ReturnType<typeof newLinks>,
  caller: Awaited<ReturnType<typeof newCaller>>,
): Promise<Creates> {
  return Promise.allSettled(inputs.map((input) => store.createLink({ caller, input, now: NOW })));
}

function acknowledgedCodes(outcomes: Creates): string[] {
  return outcomes
    .flatMap((outcome) =>
      outcome.status === 'fulfilled' && outcome.value.ok ? [outcome.value.value.code] : [],
    )
    .toSorted();
}

function isOk(outcome: { ok: boolean }): boolean {
  return outcome.ok;
}

function endSessions(url: string) {
  return execute(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
}

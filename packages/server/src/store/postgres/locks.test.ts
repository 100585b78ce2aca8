import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  linksUsed,
  NOW,
  newCaller,
  newJob,
  newLink,
  newLinks,
  PUBLIC_URL,
} from '../contract/fixtures.test-suite.ts';
import { imported } from '../contract/moving.test-suite.ts';
import type { Caller, Store } from '../store.ts';
import { LOCK_TIMEOUT_MS } from './connection.ts';
import { openPostgresStore } from './index.ts';
import { execute, usePostgres } from './test-postgres.test-suite.ts';

const { newSchema } = usePostgres();
let url: string;
let store: Store;
let locked: Caller;
let other: Caller;
let foreign: Client;

beforeEach(async () => {
  url = await newSchema();
  store = await openPostgresStore({ url, publicUrl: PUBLIC_URL });
  locked = await newCaller(store);
  other = await newCaller(store);
  foreign = new Client({ connectionString: url });
  await foreign.connect();
  await foreign.query('BEGIN');
});
afterEach(async () => {
  await foreign.end();
  await store.close();
});

/** Keeps calling until it is told to end; answers how many calls failed, with their reasons. */
function callAllTheTime(concurrency: number, call: (n: number) => Promise<unknown>) {
  let ended = false;
  const reasons = new Set<unknown>();
  let failures = 0;
  const callers = Array.from({ length: concurrency }, async (_, caller) => {
    for (let n = 0; !ended; n += 1) {
      await call(caller * 1_000_000 + n).catch((error: { reason?: unknown }) => {
        failures += 1;
        reasons.add(error.reason);
      });
    }
  });
  return {
    reasons,
    failures: () => failures,
    end: async () => {
      ended = true;
      await Promise.all(callers);
    },
  };
}

/** Everything that another account and a visitor do; rejects with the first that fails. */
async function workOfOthers(code: string): Promise<void> {
  for (let n = 0; n < 5; n += 1) {
    await store.admit(other, NOW);
    await store.createLink({ caller: other, input: newLink(n), now: NOW });
    await store.createBatch({ caller: other, input: newLinks(5), now: NOW });
    await store.findRedirect(code);
    await store.usage(other.accountId, NOW);
  }
  const jobId = await newJob(store, other, 101);
  await store.runJobChunk(jobId, NOW);
}

for (const [table, column] of [
  ['link_totals', 'account_id'],
  ['request_counters', 'account_id'],
] as const) {
  test(`a locked row of an account in ${table} holds up that account only, and not for ever`, async () => {
    const first = await store.createLink({ caller: other, input: newLink(), now: NOW });
    if (!first.ok) throw new Error(first.reason);
    await store.admit(locked, NOW);
    await foreign.query(`SELECT FROM ${table} WHERE ${column} = $1 FOR UPDATE`, [locked.accountId]);
    // Creates of all kinds and admissions, many more than there are connections.
    const stuck = callAllTheTime(60, (n) => {
      const request = { caller: locked, now: NOW };
      const idempotency = { key: `k${n}`, fingerprint: 'f' };
      if (table === 'request_counters') return store.admit(locked, NOW);
      if (n % 3 === 0) return store.createLink({ ...request, input: newLink(n) });
      if (n % 3 === 1) return store.createLink({ ...request, input: newLink(n), idempotency });
      return store.createBatch({ ...request, input: newLinks(3), idempotency });
    });
    await expect.poll(stuck.failures).toBeGreaterThan(0);
    const before = stuck.failures();
    await workOfOthers(first.value.code);
    // It is still locked, and its calls are still refused rather than left waiting.
    await expect.poll(stuck.failures).toBeGreaterThan(before);
    await foreign.query('ROLLBACK');
    await stuck.end();
    expect([...stuck.reasons]).toEqual(['busy']);
    expect(await store.createLink({ caller: locked, input: newLink(), now: NOW })).toMatchObject({
      ok: true,
    });
    const [row] = await execute(
      url,
      `SELECT count(*)::int AS links FROM links WHERE account_id = '${locked.accountId}'`,
    );
    expect(await linksUsed(store, locked)).toBe(row?.['links']);
  });
}

test.each([
  ['from the beginning', false],
  ['while they are busy', true],
])(
  'eight accounts that are locked %s leave connections for the creates of another one',
  async (_, busy) => {
    const accounts = await Promise.all(Array.from({ length: 8 }, () => newCaller(store)));
    const ids = accounts.map(({ accountId }) => accountId);
    const lock = () =>
      foreign.query('SELECT FROM link_totals WHERE account_id = ANY ($1) FOR UPDATE', [ids]);
    if (!busy) await lock();
    const created = new Map<Caller, number>();
    const stuck = accounts.map((caller) =>
      callAllTheTime(6, async (n) => {
        await store.createBatch({ caller, input: [newLink(n)], now: NOW });
        created.set(caller, (created.get(caller) ?? 0) + 1);
      }),
    );
    if (busy) {
      // By then the calls of each account use as many connections as they may.
      await expect
        .poll(() => accounts.every((caller) => (created.get(caller) ?? 0) >= 20))
        .toBe(true);
      await lock();
    }
    const times: number[] = [];
    for (let n = 0; n < 25; n += 1) {
      const startedAt = performance.now();
      await store.createLink({ caller: other, input: newLink(n), now: NOW });
      times.push(performance.now() - startedAt);
      await delay(100);
    }
    await expect.poll(() => stuck.every(({ failures }) => failures() > 0)).toBe(true);
    await foreign.query('ROLLBACK');
    await Promise.all(stuck.map(({ end }) => end()));
    // Whoever waits for a connection that waits for a locked row waits until that gives up. The machine may hold up a few.
    expect(times.filter((ms) => ms >= LOCK_TIMEOUT_MS).length).toBeLessThan(5);
    for (const caller of accounts) {
      expect(await linksUsed(store, caller)).toBe(created.get(caller) ?? 0);
    }
  },
);

test('a create that is refused because of a lock is not stored', async () => {
  await foreign.query('SELECT FROM link_totals WHERE account_id = $1 FOR UPDATE', [
    locked.accountId,
  ]);
  const creates = await Promise.allSettled(
    newLinks(40).map((input) => store.createLink({ caller: locked, input, now: NOW })),
  );
  expect(new Set(creates.map(({ status }) => status))).toEqual(new Set(['rejected']));
  await foreign.query('ROLLBACK');
  expect(await linksUsed(store, locked)).toBe(0);
  expect(await execute(url, 'SELECT code FROM links')).toEqual([]);
});

test('a job whose row is locked is left alone, and the others run', async () => {
  const jobs = [await newJob(store, locked, 200), await newJob(store, other, 200)] as const;
  await foreign.query('SELECT FROM jobs WHERE id = $1 FOR UPDATE', [jobs[0]]);
  expect(await store.runJobChunk(jobs[0], NOW)).toMatchObject({ busy: true, created: 0 });
  expect(await store.runJobChunk(jobs[1], NOW)).toMatchObject({ created: 200, done: true });
});

test('of an import and the removal of its domain, each waits for the other, and sees what it did', async () => {
  const { accountId } = other;
  const hostnames = ['go.example', 'bit.example'];
  const domains = hostnames.map((hostname) => store.addDomain({ hostname, accountId, now: NOW }));
  const [go, bit] = (await Promise.all(domains)).map((domain) => domain?.id ?? '');
  const domain_id = go ?? '';
  await foreign.query('UPDATE domains SET removed_at = 1 WHERE id = $1', [go]);
  const links = [imported('/a', { domain_id })];
  const importing = store.importLinks({ accountId, links });
  await delay(100);
  await foreign.query('COMMIT; BEGIN');
  expect(await importing).toEqual([{ state: 'removed', domain_id }]);
  await foreign.query('SELECT FROM domains WHERE id = $1 FOR SHARE', [bit]);
  await foreign.query(`INSERT INTO aliases (domain_id, path, code) VALUES ($1, '/a', 'x')`, [bit]);
  const removal = { hostname: 'bit.example', force: false, now: NOW };
  const removing = store.removeDomain(removal);
  await delay(100);
  await foreign.query('COMMIT');
  expect(await removing).toEqual({ ok: false, reason: 'has_links' });
});

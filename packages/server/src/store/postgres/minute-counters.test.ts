import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { NOW, newCaller, newKey, PUBLIC_URL } from '../contract/fixtures.test-suite.ts';
import type { Caller, Store } from '../store.ts';
import { openPostgresStore } from './index.ts';
import { execute, usePostgres } from './test-postgres.test-suite.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;

const { newSchema } = usePostgres();
let url: string;
let stores: Store[];

beforeEach(async () => {
  url = await newSchema();
  stores = [];
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
});

async function open(count = 1): Promise<Store[]> {
  const opening = Array.from({ length: count }, () =>
    openPostgresStore({ url, publicUrl: PUBLIC_URL }),
  );
  stores.push(...(await Promise.all(opening)));
  return stores;
}

/** What the service shows of the account at this time. */
async function shown({ accountId }: Caller, now: number) {
  const { requests, keys, history } = await (stores[0] as Store).usage(accountId, now);
  return {
    windows: [requests.minute.used, requests.day.used, requests.month.used],
    keys: keys.map((key) => Object.values(key.requests)),
    days: history?.map((day) => [day.date, day.requests, day.refused]),
  };
}

/** Pages that the database reads to count one request. */
async function pagesOf(client: Client, { accountId, keyId }: Caller, now: number): Promise<number> {
  const day = now - (now % DAY);
  const { rows } = await client.query(
    `EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) SELECT admit_requests($1, ${day}, ${now - (now % MINUTE)}, ${Date.UTC(2026, 2)},
      NULL, NULL, NULL, ARRAY['month', 'day', 'minute'], ARRAY[$2])`
      .replace('$1', `'${accountId}'`)
      .replace('$2', `'${keyId}'`),
  );
  return rows[0]['QUERY PLAN'][0].Plan['Shared Hit Blocks'];
}

test('beside an open snapshot, a request costs no more for the requests of minutes before it', async () => {
  await open();
  const [client, dump] = [new Client(url), new Client(url)];
  await Promise.all([client.connect(), dump.connect()]);
  const caller = await newCaller(stores[0] as Store);
  await (stores[0] as Store).admit(caller, NOW);
  await dump.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM accounts');
  // The first calls read the functions and the catalog.
  for (let n = 0; n < 10; n += 1) await pagesOf(client, caller, NOW + MINUTE);
  const before = await pagesOf(client, caller, NOW + MINUTE);
  for (let n = 0; n < 1_500; n += 1) await pagesOf(client, caller, NOW + MINUTE);
  await pagesOf(client, caller, NOW + 2 * MINUTE);
  await pagesOf(client, caller, NOW + 3 * MINUTE);
  const after = await pagesOf(client, caller, NOW + 3 * MINUTE);
  expect(after).toBeLessThan(2 * before + 10);
  expect((await shown(caller, NOW + 3 * MINUTE)).windows).toEqual([2, 1_515, 1_515]);
  await Promise.all([client.end(), dump.end()]);
});

for (const isolation of ['read committed', 'repeatable read', 'serializable']) {
  test(`limits are exact for instances whose clocks differ, with a default of ${isolation}`, async () => {
    const { pathname } = new URL(url);
    await execute(
      url,
      `ALTER DATABASE ${pathname.slice(1)} SET default_transaction_isolation = '${isolation}'`,
    );
    await open(3);
    for (const limit of [
      'requests_per_minute',
      'requests_per_day',
      'requests_per_month',
    ] as const) {
      const caller = await newCaller(stores[0] as Store, { [limit]: 40 });
      const keys = [caller, await newKey(stores[0] as Store, caller.accountId)];
      const skewMs = limit === 'requests_per_minute' ? 0 : MINUTE;
      let passed = 0;
      for (let wave = 0; wave < 25; wave += 1) {
        const admissions = stores.map((store, n) =>
          Promise.all(keys.map((key) => store.admit(key, NOW + n * skewMs))),
        );
        for (const { admitted } of (await Promise.all(admissions)).flat()) passed += +admitted;
      }
      expect(passed).toBe(40);
      const { windows, keys: used, days } = await shown(caller, NOW + 2 * skewMs);
      expect(windows.slice(skewMs === 0 ? 0 : 1)).toEqual(skewMs === 0 ? [40, 40, 40] : [40, 40]);
      expect(used.map(([, day = 0]) => day).reduce((a, b) => a + b)).toBe(40);
      expect(days).toEqual([['2026-03-10', 40, 110]]);
    }
  });
}

test('what is shown is exact over the edges of minute, day and month, also for a clock that is behind', async () => {
  await open(2);
  const store = stores[0] as Store;
  const caller = await newCaller(store, { requests_per_day: 4, requests_per_month: 7 });
  const march = Date.UTC(2026, 2);
  const admit = async (at: number) => (await store.admit(caller, at)).admitted;
  expect(await admit(march - DAY - 1)).toBe(true);
  expect(await admit(march - 2 * MINUTE)).toBe(true);
  expect(await admit(march - 1)).toBe(true);
  expect((await shown(caller, march - 1)).windows).toEqual([1, 2, 3]);
  expect(await admit(march)).toBe(true);
  expect((await shown(caller, march)).windows).toEqual([1, 1, 1]);
  // Behind by a minute, a day and a month at once.
  expect(await admit(march - 1)).toBe(true);
  expect(await admit(march - 2 * MINUTE)).toBe(true);
  expect(await admit(march - 1)).toBe(false);
  expect(await admit(march + MINUTE)).toBe(true);
  expect(await shown(caller, march - 1)).toMatchObject({ windows: [2, 4, 5], keys: [[2, 4, 5]] });
  expect(await shown(caller, march + MINUTE)).toEqual({
    windows: [1, 2, 2],
    keys: [[1, 2, 2]],
    days: [
      ['2026-02-27', 1, 0],
      ['2026-02-28', 4, 1],
      ['2026-03-01', 2, 0],
    ],
  });
});

test('an account that is idle loses nothing when old counters are deleted', async () => {
  await open();
  const store = stores[0] as Store;
  const caller = await newCaller(store);
  for (let n = 0; n < 3; n += 1) await store.admit(caller, NOW);
  await store.prune(NOW + 3 * DAY);
  const later = await shown(caller, NOW + 3 * DAY);
  expect(later).toMatchObject({
    windows: [0, 0, 3],
    keys: [[0, 0, 3]],
    days: [['2026-03-10', 3, 0]],
  });
  expect(await execute(url, 'SELECT FROM request_minutes')).toEqual([]);
});

test('the connections of an instance are known, as many as it may have', async () => {
  await open();
  const { connections } = stores[0] as Store;
  await (stores[0] as Store).listAccounts();
  expect(connections?.()).toEqual({ busy: 0, idle: 1, free: 14 });
});

test('a request writes one row, and a refund takes it back there', async () => {
  await open();
  const store = stores[0] as Store;
  const caller = await newCaller(store);
  await store.admit(caller, NOW);
  const rows = () => execute(url, 'SELECT ctid, used FROM request_counters ORDER BY ctid');
  const before = await rows();
  await store.admit(caller, NOW);
  await store.refund(caller, NOW);
  expect(await rows()).toEqual(before);
  expect((await shown(caller, NOW)).windows).toEqual([1, 1, 1]);
  await store.admit(caller, NOW + MINUTE);
  await store.refund(caller, NOW);
  expect((await shown(caller, NOW + MINUTE)).windows).toEqual([1, 1, 1]);
});

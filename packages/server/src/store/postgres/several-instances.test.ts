import { setTimeout as delay } from 'node:timers/promises';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import {
  linksUsed,
  NOW,
  newCaller,
  newLink,
  newLinks,
  PUBLIC_URL,
} from '../contract/fixtures.test-suite.ts';
import type { Store } from '../store.ts';
import { openPostgresStore } from './index.ts';
import { execute, usePostgres } from './test-postgres.test-suite.ts';

const { newSchema } = usePostgres();
let url: string;
let stores: [Store, Store, Store];

beforeEach(async () => {
  url = await newSchema();
  const open = () => openPostgresStore({ url, publicUrl: PUBLIC_URL });
  stores = await Promise.all([open(), open(), open()]);
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
});

function store(n: number): Store {
  return stores[n % 3] ?? stores[0];
}

test('of 3L requests over all instances exactly L pass, in every window', async () => {
  for (const limit of ['requests_per_minute', 'requests_per_day', 'requests_per_month'] as const) {
    const caller = await newCaller(store(0), { [limit]: 50 });
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, n) => store(n).admit(caller, NOW)),
    );
    expect(answers.filter((answer) => answer.admitted)).toHaveLength(50);
  }
});

test('requests of two minutes and several limits of one account do not block one another', async () => {
  const caller = await newCaller(store(0), { requests_per_day: 300 });
  const upgraded = { ...caller, limits: { ...caller.limits, requests_per_day: 301 } };
  const answers = await Promise.all(
    Array.from({ length: 400 }, (_, n) =>
      store(n).admit(n % 5 === 0 ? upgraded : caller, NOW + (n % 2) * 60_000),
    ),
  );
  const passed = answers.filter((answer) => answer.admitted).length;
  expect(passed).toBeGreaterThanOrEqual(300);
  expect(passed).toBeLessThanOrEqual(301);
  const { requests, keys } = await store(0).usage(caller.accountId, NOW);
  expect(requests.day.used).toBe(passed);
  expect(keys[0]?.history[0]).toMatchObject({ requests: passed, refused: 400 - passed });
});

test('of 3L links over all instances exactly L are created, alone and in batches', async () => {
  const caller = await newCaller(store(0), { links: 60 });
  const singles = newLinks(90).map((input, n) => store(n).createLink({ caller, input, now: NOW }));
  const batches = Array.from({ length: 9 }, (_, n) =>
    store(n).createBatch({ caller, input: newLinks(10), now: NOW }),
  );
  const single = (await Promise.all(singles)).filter((outcome) => outcome.ok).length;
  const batch = (await Promise.all(batches)).filter((outcome) => outcome.ok).length;
  expect(single + 10 * batch).toBe(60);
  expect(await linksUsed(store(1), caller)).toBe(60);
});

test('of duplicates over all instances one creates, and all get its answer', async () => {
  const caller = await newCaller(store(0));
  const idempotency = { key: 'k', fingerprint: 'f' };
  const answers = await Promise.all(
    Array.from({ length: 60 }, (_, n) =>
      store(n).createLink({ caller, input: newLink(), now: NOW, idempotency }),
    ),
  );
  expect(answers.filter((answer) => answer.ok && !answer.replayed)).toHaveLength(1);
  expect(new Set(answers.map((answer) => answer.ok && answer.value.id)).size).toBe(1);
  expect(await linksUsed(store(0), caller)).toBe(1);
});

test('a change that is under way is not passed over by one that is committed before it', async () => {
  const caller = await newCaller(store(0));
  const batch = await store(0).createBatch({ caller, input: newLinks(2), now: NOW });
  if (!batch.ok) throw new Error(batch.reason);
  const [first = '', second = ''] = batch.value.map((item) => item.code ?? '');
  const { latest } = await store(1).linkChanges(0);
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN');
  await client.query('UPDATE links SET is_active = false WHERE code = $1', [first]);
  const other = store(2).setLinkActive(second, false);
  await delay(200);
  const during = await store(1).linkChanges(latest);
  await client.query('COMMIT');
  await client.end();
  await other;
  const after = await store(1).linkChanges(during.latest);
  const told = [...during.changed, ...after.changed];
  expect(told.toSorted()).toEqual([first, second].toSorted());
});

test('clicks of a hot link are spread over rows, those of others are not', async () => {
  const caller = await newCaller(store(0));
  const batch = await store(0).createBatch({ caller, input: newLinks(2), now: NOW });
  if (!batch.ok) throw new Error(batch.reason);
  const [hot = '', cold = ''] = batch.value.map((item) => item.code ?? '');
  await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      store(n).addClicks(
        new Map([
          [hot, 10],
          [cold, 1],
        ]),
      ),
    ),
  );
  expect(await store(0).findLink(hot)).toMatchObject({ click_count: 300 });
  expect(await store(0).findLink(cold)).toMatchObject({ click_count: 30 });
  const slots = await execute(url, `SELECT slot FROM link_clicks WHERE code = '${cold}'`);
  expect(slots).toEqual([{ slot: 0 }]);
});

test('of opposite corrections of the same links at all instances, one is made, whole', async () => {
  const caller = await newCaller(store(0));
  const batch = await store(0).createBatch({ caller, input: newLinks(60), now: NOW });
  if (!batch.ok) throw new Error(batch.reason);
  const links = batch.value.map(({ code = '', target_url: ifTarget }) => ({ code, ifTarget }));
  const outcomes = await Promise.all(
    stores.map((one, n) => {
      const corrections = links.map((link) => {
        return { ...link, target_url: `https://example.com/by-${n}`, by: 'ann', now: NOW };
      });
      return one.updateLinks(n === 1 ? corrections.toReversed() : corrections);
    }),
  );
  const made = outcomes.map((outcome) => outcome.every(({ ok }) => ok)).indexOf(true);
  expect(outcomes.filter((outcome) => outcome.every(({ ok }) => ok))).toHaveLength(1);
  const found = await Promise.all(links.map(({ code }) => store(0).findLink(code)));
  const targets = new Set(found.map((link) => link?.target_url));
  expect(targets).toEqual(new Set([`https://example.com/by-${made}`]));
});

test('many corrections at once look for old changes of links some times, not once for each', async () => {
  const { accountId } = await newCaller(store(0));
  await execute(
    url,
    `INSERT INTO links (code, id, account_id, target_url, target_number, title, tags, redirect_type, is_active, created_at)
       SELECT 'l' || n, gen_random_uuid(), '${accountId}', 'https://example.com/' || n, n, '', '[]', 302, true, ${NOW} FROM generate_series(1, 3000) AS n;
     CREATE SEQUENCE deletions;
     CREATE FUNCTION count_deletion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('deletions'); RETURN NULL; END $$;
     CREATE TRIGGER counted AFTER DELETE ON link_changes EXECUTE FUNCTION count_deletion()`,
  );
  const target_url = 'https://example.com/new';
  const corrections = Array.from({ length: 3_000 }, (_, n) => {
    return { code: `l${n + 1}`, target_url, by: 'ann', now: NOW };
  });
  const outcomes = await store(0).updateLinks(corrections);
  expect(outcomes.filter((outcome) => outcome.ok && outcome.changed)).toHaveLength(3_000);
  const [counted] = await execute(url, 'SELECT last_value::int AS deletions FROM deletions');
  expect(counted?.['deletions']).toBe(3);
  const [changes] = await execute(url, 'SELECT count(*)::int AS kept FROM link_changes');
  expect(changes?.['kept']).toBeGreaterThanOrEqual(1_000);
  expect(changes?.['kept']).toBeLessThan(2_000);
});

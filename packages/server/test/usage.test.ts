import { usageSchema } from '@shortlink/sdk/wire';
import { expect, test, vi } from 'vitest';
import { BATCH, entries, Fixture, LINKS, TARGET } from './fixture.ts';

test('usage shows the plan, its limits and what is used, per account and per key', async () => {
  const app = await Fixture.open();
  const accountId = await app.account('pro');
  const [writer, reader] = [await app.key(accountId), await app.key(accountId, 'analytics:read')];
  await app.post(writer, LINKS, { target_url: TARGET });
  await app.post(writer, BATCH, { links: entries(10) });
  await app.get(reader, '/api/v1/jobs/x');

  const { status, json } = await app.get(reader, '/api/v1/usage');
  expect(status).toBe(200);
  expect(usageSchema.safeParse(json).success).toBe(true);
  expect(json).toMatchObject({
    account_name: expect.stringMatching(/./),
    plan: 'pro',
    requests: {
      minute: { used: 3, limit: 60, resets_at: '2026-11-20T10:21:00.000Z' },
      day: { used: 3, limit: 10_000, resets_at: '2026-11-21T00:00:00.000Z' },
      month: { used: 3, limit: 200_000, resets_at: '2026-12-01T00:00:00.000Z' },
    },
    links: { used: 11, limit: 1_000 },
    api_keys: { used: 2, limit: 3 },
    batch_size: 100,
  });
  const [first, second] = json.keys;
  expect(first.requests).toEqual({ minute: 2, day: 2, month: 2 });
  expect(first.history).toEqual([{ date: '2026-11-20', requests: 2, refused: 0, links: 11 }]);
  expect(second.requests.minute).toBe(1);
  expect(second.history[0].links).toBe(0);
  expect(JSON.stringify(json)).not.toContain('sl_');
});

test('a refusal shows in the key’s history and in no window', async () => {
  const app = await Fixture.open();
  const key = await app.caller('custom', { requests_per_minute: 1 });
  for (let i = 0; i < 3; i++) await app.get(key, '/api/v1/jobs/x');
  const { json } = await app.get(key, '/api/v1/usage');
  expect(json.requests.minute.used).toBe(1);
  expect(json.requests.day.used).toBe(1);
  expect(json.keys[0].history[0]).toMatchObject({ requests: 1, refused: 2 });
  expect(json.keys[0].recent_refusals).toEqual([
    { minute: '2026-11-20T10:20:00.000Z', reason: 'minute', count: 2 },
  ]);
});

test('so do refusals by the plan', async () => {
  const app = await Fixture.open();
  const key = await app.caller('custom', { links: 1, batch_size: 2 });
  await app.post(key, BATCH, { links: entries(2) });
  await app.post(key, BATCH, { links: entries(3) });
  await app.post(key, BATCH, { links: entries(101) });
  const { json } = await app.get(key, '/api/v1/usage');
  expect(json.keys[0].history[0]).toMatchObject({ refused: 3, links: 0 });
});

test('an account sees itself only', async () => {
  const app = await Fixture.open();
  const key = await app.caller('community');
  await app.caller('pro');
  const { json } = await app.get(key, '/api/v1/usage');
  expect(json.keys).toHaveLength(1);
  expect(json.plan).toBe('community');
});

test('usage is read 60 times a minute by all keys of an account together, and counts against no quota', async () => {
  const app = await Fixture.open();
  const account = await app.account('pro');
  const keys = [await app.key(account), await app.key(account)];
  const other = await app.caller('community');
  for (let n = 0; n < 60; n += 1) {
    expect((await app.get(keys[n % 2] ?? '', '/api/v1/usage')).status).toBe(200);
  }
  const refused = await app.get(keys[0] ?? '', '/api/v1/usage');
  expect(refused.status).toBe(429);
  expect(refused.json).toEqual({ error: expect.stringContaining('60'), code: 'rate_limited' });
  const wait = Number(refused.headers.get('retry-after'));
  expect((await app.get(other, '/api/v1/usage')).status).toBe(200);
  app.now += wait * 1_000 - 1_000;
  expect((await app.get(keys[0] ?? '', '/api/v1/usage')).status).toBe(429);
  app.now += 1_000;
  const again = await app.get(keys[0] ?? '', '/api/v1/usage');
  expect(again.status).toBe(200);
  expect(again.json.requests.day.used).toBe(0);
});

test('a reading that fails takes none with it that began after it', async () => {
  const app = await Fixture.open();
  const key = await app.caller();
  const { usage } = app.store;
  const { promise: lost, reject: lose } = Promise.withResolvers<never>();
  app.store.usage = () => lost;
  const first = app.get(key, '/api/v1/usage');
  await new Promise((resolve) => setTimeout(resolve, 20));
  app.store.usage = usage;
  const second = app.get(key, '/api/v1/usage');
  await new Promise((resolve) => setTimeout(resolve, 20));
  lose(new Error('The connection was lost.'));
  expect([(await first).status, (await second).status]).toEqual([500, 200]);
});

test('an account reads its usage once at a time, and waits for no other account', async () => {
  const app = await Fixture.open();
  const [key, other] = [await app.caller('pro'), await app.caller('pro')];
  let [running, most] = [0, 0];
  const read = app.store.usage.bind(app.store);
  vi.spyOn(app.store, 'usage').mockImplementation(async (...args) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setTimeout(resolve, 5));
    return read(...args).finally(() => {
      running -= 1;
    });
  });
  const readings = (...keys: string[]) =>
    Promise.all(keys.map(async (one) => (await app.get(one, '/api/v1/usage')).status));
  expect(await readings(key, key, key)).toEqual([200, 200, 200]);
  expect(most).toBe(1);
  expect(await readings(key, other, key, other)).toEqual([200, 200, 200, 200]);
  expect(most).toBe(2);
});

test('the most clicked links are shown to keys that may read usage, and to no others', async () => {
  const app = await Fixture.open();
  const accountId = await app.account('pro');
  const [writer, reader] = [await app.key(accountId), await app.key(accountId, 'analytics:read')];
  const { code, short_url } = (await app.post(writer, LINKS, { target_url: TARGET, title: 'Docs' }))
    .json;
  await app.send(`/${code}`);
  const top = async (key: string) => (await app.get(key, '/api/v1/usage')).json.top_links;
  await expect
    .poll(() => top(reader))
    .toEqual([{ code, short_url, target_url: TARGET, title: 'Docs', click_count: 1 }]);
  expect(await top(writer)).toBeUndefined();
});

import { beforeEach, expect, test } from 'vitest';
import { BATCH, entries, Fixture, LINKS, TARGET } from './fixture.ts';

let app: Fixture;
beforeEach(async () => {
  app = await Fixture.open();
});

test('every authenticated answer shows all windows: policy, what is left, seconds to the end', async () => {
  const key = await app.caller('pro');
  const answers = [
    await app.post(key, LINKS, { target_url: TARGET }),
    await app.post(key, LINKS, {}),
    await app.post(key, BATCH, { links: entries(101) }),
    await app.get(key, '/api/v1/jobs/x'),
  ];
  expect(answers.map((answer) => answer.status)).toEqual([201, 400, 403, 404]);
  for (const [index, { headers }] of answers.entries()) {
    expect(headers.get('ratelimit-policy')).toBe(
      '"minute";q=60;w=60, "day";q=10000;w=86400, "month";q=200000;w=2592000',
    );
    const used = index + 1;
    expect(headers.get('ratelimit')).toBe(
      `"minute";r=${60 - used};t=30, "day";r=${10_000 - used};t=49170, "month";r=${200_000 - used};t=913170`,
    );
  }
});

test.each([
  ['community', [15, 100, 2_000], 15, 1, 100],
  ['pro', [60, 10_000, 200_000], 1_000, 3, 100],
  ['avance', [120, 50_000, 1_000_000], 6_000, 10, 5_000],
] as const)('the plan %s has the documented limits', async (plan, requests, links, keys, batch) => {
  const { headers, json } = await app.get(await app.caller(plan), '/api/v1/usage');
  const [minute, day, month] = requests;
  expect(headers.get('ratelimit-policy')).toBe(
    `"minute";q=${minute};w=60, "day";q=${day};w=86400, "month";q=${month};w=2592000`,
  );
  expect(json.requests.minute.limit).toBe(minute);
  expect(json.requests.day.limit).toBe(day);
  expect(json.requests.month.limit).toBe(month);
  expect(json.links.limit).toBe(links);
  expect(json.api_keys.limit).toBe(keys);
  expect(json.batch_size).toBe(batch);
});

test('usage shows them and counts nowhere', async () => {
  const key = await app.caller('community');
  for (let i = 0; i < 20; i++) {
    const { status, headers } = await app.get(key, '/api/v1/usage');
    expect(status).toBe(200);
    expect(headers.get('ratelimit')).toMatch(/^"minute";r=15;t=30, "day";r=100;/);
  }
});

test('a 429 shows nothing left', async () => {
  const key = await app.caller('custom', { requests_per_minute: 1 });
  await app.get(key, '/api/v1/jobs/x');
  const { status, headers } = await app.get(key, '/api/v1/jobs/x');
  expect(status).toBe(429);
  expect(headers.get('ratelimit')).toBe('"minute";r=0;t=30');
});

test('an account without request limits, a redirect and a probe show none', async () => {
  const key = await app.caller();
  const created = await app.post(key, LINKS, { target_url: TARGET });
  const redirect = await app.send(`/${created.json.code}`);
  for (const { headers } of [created, redirect, await app.send('/healthz')]) {
    expect(headers.has('ratelimit')).toBe(false);
    expect(headers.has('ratelimit-policy')).toBe(false);
  }
});

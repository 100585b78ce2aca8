import { PLAN_LIMITS } from '@shortlink/sdk/wire';
import { beforeEach, describe, expect, test } from 'vitest';
import { BATCH, entries, Fixture, LINKS, START, TARGET } from './fixture.ts';

let app: Fixture;
beforeEach(async () => {
  app = await Fixture.open();
});

const poll = (key: string) => app.get(key, '/api/v1/jobs/x');
const create = (key: string) => app.post(key, LINKS, { target_url: TARGET });

describe.each(['community', 'pro', 'avance'] as const)('the plan %s', (plan) => {
  const limits = PLAN_LIMITS[plan];

  test('of three times its requests a minute at once, exactly those pass', async () => {
    const key = await app.caller(plan);
    const allowed = limits.requests_per_minute;
    const answers = await Promise.all(Array.from({ length: allowed * 3 }, () => poll(key)));
    const refused = answers.filter((answer) => answer.status === 429);
    expect(answers.filter((answer) => answer.status === 404)).toHaveLength(allowed);
    expect(refused).toHaveLength(allowed * 2);
    expect(refused[0]?.json).toEqual({
      error: `Rate limit exceeded: your plan allows ${allowed} requests per minute. Try again in 30 s.`,
      code: 'rate_limited',
    });
    expect(refused[0]?.headers.get('retry-after')).toBe('30');
  });

  test('a batch over its size is 403 with upgrade', async () => {
    const key = await app.caller(plan);
    const sent = limits.batch_size + 1;
    const { status, json } = await app.post(key, BATCH, { links: entries(sent) });
    expect(status).toBe(403);
    expect(json).toMatchObject({
      code: 'plan_limit',
      upgrade: true,
      limit: 'batch_size',
      used: sent,
      allowed: limits.batch_size,
    });
    expect(json.error).toMatch(/upgrade/i);
    expect(await app.linksUsed(key)).toBe(0);
  });

  test('its total of links is reached exactly, then 403 with upgrade', async () => {
    const key = await app.caller(plan);
    const used = await fill(key, limits.links - 1, limits.batch_size);
    const tooMany = await app.post(key, BATCH, { links: entries(2) });
    expect(tooMany.status).toBe(403);
    expect(tooMany.json).toMatchObject({ limit: 'links', used, allowed: limits.links });
    expect((await create(key)).status).toBe(201);
    const { status, json } = await create(key);
    expect(status).toBe(403);
    expect(json).toEqual({
      error: expect.stringMatching(/used.*allowed.*upgrade/i),
      code: 'plan_limit',
      upgrade: true,
      limit: 'links',
      used: limits.links,
      allowed: limits.links,
    });
    expect(json.error).toContain(limits.links.toLocaleString('en-US'));
    expect(await app.linksUsed(key)).toBe(limits.links);
  });

  test('its number of API keys, and no more', async () => {
    const accountId = await app.account(plan);
    for (let held = 0; held < limits.api_keys; held++) await app.key(accountId);
    await expect(app.key(accountId)).rejects.toThrow(
      `${limits.api_keys} used, ${limits.api_keys} allowed`,
    );
  });
});

/** Fills up to `count` links in batches, moving the clock on so that no request limit is met. */
async function fill(key: string, count: number, batchSize: number): Promise<number> {
  for (let used = 0; used < count; ) {
    const next = Math.min(batchSize, count - used);
    expect((await app.post(key, BATCH, { links: entries(next) })).status).toBeLessThan(300);
    used += next;
    app.now += 60_000;
  }
  return count;
}

test.each([
  ['requests_per_minute', 'minute', Date.UTC(2026, 10, 20, 10, 21)],
  ['requests_per_day', 'day', Date.UTC(2026, 10, 21)],
  ['requests_per_month', 'month', Date.UTC(2026, 11, 1)],
] as const)(
  '%s: waiting out Retry-After succeeds, a second less does not',
  async (limit, word, end) => {
    const key = await app.caller('custom', { [limit]: 2 });
    expect((await poll(key)).status).toBe(404);
    expect((await create(key)).status).toBe(201);
    const refused = await create(key);
    expect(refused.status).toBe(429);
    expect(refused.json.error).toContain(`2 requests per ${word}`);
    const seconds = Number(refused.headers.get('retry-after'));
    expect(seconds).toBe(Math.ceil((end - START) / 1000));
    app.now = START + (seconds - 1) * 1000;
    expect((await create(key)).status).toBe(429);
    app.now = START + seconds * 1000;
    expect((await create(key)).status).toBe(201);
  },
);

test('a request refused by one window counts in no other', async () => {
  const key = await app.caller('custom', { requests_per_minute: 1, requests_per_day: 2 });
  await poll(key);
  for (let i = 0; i < 5; i++) expect((await poll(key)).status).toBe(429);
  app.now += 60_000;
  expect((await poll(key)).status).toBe(404);
});

test('when minute and day are full, Retry-After is the day’s', async () => {
  const key = await app.caller('custom', { requests_per_minute: 1, requests_per_day: 1 });
  await poll(key);
  const refused = await poll(key);
  expect(refused.json.error).toContain('per day');
  app.now += Number(refused.headers.get('retry-after')) * 1000;
  expect((await poll(key)).status).toBe(404);
});

test('limits belong to the account: its keys share them, other accounts do not', async () => {
  const accountId = await app.account('custom', { requests_per_minute: 1 });
  const [first, second] = [await app.key(accountId), await app.key(accountId)];
  expect((await poll(first)).status).toBe(404);
  expect((await poll(second)).status).toBe(429);
  expect((await poll(await app.caller('custom', { requests_per_minute: 1 }))).status).toBe(404);
});

test('Custom can be unlimited in all but the endpoint’s own 10,000 a batch', async () => {
  const key = await app.caller('custom', { batch_size: null });
  expect((await app.post(key, BATCH, { links: entries(10_000) })).status).toBe(202);
  expect((await app.post(key, BATCH, { links: entries(10_001) })).status).toBe(400);
});

test('two concurrent batches never pass the total together', async () => {
  const key = await app.caller('custom', { links: 250 });
  const batches = Array.from({ length: 5 }, () => app.post(key, BATCH, { links: entries(101) }));
  const statuses = (await Promise.all(batches)).map((answer) => answer.status).sort();
  expect(statuses).toEqual([202, 202, 403, 403, 403]);
  expect(await app.linksUsed(key)).toBe(202);
});

describe('large bodies', () => {
  const filled = (bytes: number) => JSON.stringify({ links: [], padding: 'x'.repeat(bytes) });

  test('that have no room because of others of the account count against its quota', async () => {
    const key = await app.caller('community');
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const piece = new TextEncoder().encode(filled(2_200_000));
    const begin = () => {
      const body = new ReadableStream<Uint8Array>({
        start: (controller) => controller.enqueue(piece),
        pull: async (controller) => {
          await released;
          controller.close();
        },
      });
      const headers = { 'X-Api-Key': key, 'Content-Type': 'application/json' };
      return app.send(BATCH, { method: 'POST', headers, body, duplex: 'half' } as RequestInit);
    };
    const requests = Array.from({ length: 10 }, begin);
    expect((await Promise.any(requests)).status).toBe(503);
    release();
    const statuses = (await Promise.all(requests)).map(({ status }) => status);
    expect(new Set(statuses)).toEqual(new Set([400, 503]));
    expect((await app.get(key, '/api/v1/usage')).json.requests.minute.used).toBe(10);
  });

  test('are as large as a batch of the plan can need, and no larger', async () => {
    const key = await app.caller('pro');
    const longest = {
      target_url: `https://example.com/${'\u00e9'.repeat(1_300)}`,
      title: '\u{1f517}'.repeat(127),
      tags: Array.from({ length: 20 }, (_, n) => `${n}`.padEnd(64, '\u00e9')),
    };
    const body = JSON.stringify({ links: Array(100).fill(longest) });
    const escaped = body.replace(
      /[^\0-\x7f]/g,
      (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`,
    );
    expect(escaped.length).toBeGreaterThan(1_500_000);
    expect((await app.post(key, BATCH, escaped)).status).toBe(200);
    const { status, json } = await app.post(key, BATCH, filled(3_000_000));
    expect([status, json.error]).toEqual([413, 'The request body is larger than 2,656 KiB.']);
    expect((await app.post(await app.caller('avance'), BATCH, filled(3_000_000))).status).toBe(400);
  });
});

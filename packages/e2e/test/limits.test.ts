import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decided } from '../src/decided.ts';
import { adminRaw } from '../src/server-process.ts';
import { type Answer, World } from '../src/world.ts';

const LINKS = '/api/v1/links';
const TARGET = 'https://example.com/';
let world: World;

/** In the middle of a minute. */
const MID_MINUTE = Math.floor(Date.now() / 60_000) * 60_000 + 30_000;

// The clock of the servers stands still, so that no window ends in the middle of a test, however slow the machine is.
beforeAll(async () => {
  world = await World.create({ hasMovableClock: true });
  await world.setClock({ now: MID_MINUTE, runs: false });
});
afterAll(() => world[Symbol.asyncDispose]());

function expectRateLimited(
  answer: Answer,
  allowed: number,
  window: RegExp,
  maxWaitSeconds: number,
): void {
  expect(answer.status).toBe(429);
  expect(answer.json.error).toContain(allowed.toLocaleString('en-US'));
  expect(answer.json.error).toMatch(window);
  expect(answer.json.code).toBe('rate_limited');
  const retryAfter = answer.headers.get('retry-after') ?? '';
  expect(retryAfter).toMatch(/^[1-9]\d*$/);
  expect(Number(retryAfter)).toBeLessThanOrEqual(maxWaitSeconds);
}

function expectPlanLimit(answer: Answer, limit: string, used: number, allowed: number): void {
  expect(answer.status).toBe(403);
  expect(answer.json).toMatchObject({ upgrade: true, code: 'plan_limit', limit, used, allowed });
  expect(answer.json.error).toContain(allowed.toLocaleString('en-US'));
  expect(answer.json.error).toMatch(/upgrade/i);
}

describe.each([
  ['community', { rpm: 15, links: 15, batch: 100, keys: 1 }],
  ['pro', { rpm: 60, links: 1000, batch: 100, keys: 3 }],
  ['avance', { rpm: 120, links: 6000, batch: 5000, keys: 10 }],
] as const)('the %s plan', (plan, limits) => {
  test(`${limits.rpm} requests a minute pass, however many come at once; polls count; the rest is 429`, async () => {
    const { key } = await world.caller(plan);
    const answers = await Promise.all(
      Array.from({ length: limits.rpm * 3 }, () =>
        decided(() => world.request(key, 'GET', '/api/v1/jobs/unknown')),
      ),
    );
    const refused = answers.filter((answer) => answer.status === 429);
    expect(answers.filter((answer) => answer.status === 404)).toHaveLength(limits.rpm);
    expect(refused).toHaveLength(limits.rpm * 2);
    for (const answer of refused) expectRateLimited(answer, limits.rpm, /minute/, 30);
  });

  test(`${limits.links} links in total, and a batch that would pass them is refused whole`, async () => {
    const { key } = await world.caller(plan);
    const fill = async (count: number) => {
      const links = Array.from({ length: count }, (_, i) => ({ target_url: `${TARGET}${i}` }));
      return world.request(key, 'POST', `${LINKS}/batch`, { links });
    };
    const step = Math.min(limits.batch, limits.links - 5);
    let used = 0;
    while (used + step <= limits.links - 5) {
      expect((await fill(step)).status).toBeLessThan(300);
      used += step;
    }
    const rest = limits.links - 5 - used;
    if (rest > 0) expect((await fill(rest)).status).toBeLessThan(300);
    expectPlanLimit(await fill(6), 'links', limits.links - 5, limits.links);
    expect((await fill(5)).status).toBe(200);
    expectPlanLimit(
      await world.request(key, 'POST', LINKS, { target_url: TARGET }),
      'links',
      limits.links,
      limits.links,
    );
  });

  test(`batches of ${limits.batch} links`, async () => {
    const { key } = await world.caller(plan);
    const links = Array.from({ length: limits.batch + 1 }, (_, i) => ({
      target_url: `${TARGET}${i}`,
    }));
    const answer = await world.request(key, 'POST', `${LINKS}/batch`, { links });
    expectPlanLimit(answer, 'batch_size', limits.batch + 1, limits.batch);
    const usage = await world.request(key, 'GET', '/api/v1/usage');
    expect(usage.json.links.used).toBe(0);
  });

  test(`${limits.keys} API keys`, async () => {
    const account = await world.account(plan);
    for (let held = 0; held < limits.keys; held++) await world.key(account.id);
    const refused = await adminRaw(world.database, ['keys', 'create', '--account', account.id]);
    expect(refused.exitCode).not.toBe(0);
    expect(refused.stderr).toMatch(new RegExp(`\\b${limits.keys}\\b`));
  });
});

test('two concurrent batches never pass the total together', async () => {
  const { key } = await world.caller('custom', { links: 500 });
  const links = Array.from({ length: 200 }, (_, i) => ({ target_url: `${TARGET}${i}` }));
  const answers = await Promise.all(
    Array.from({ length: 6 }, () =>
      decided(() => world.request(key, 'POST', `${LINKS}/batch`, { links })),
    ),
  );
  expect(answers.map((answer) => answer.status).sort()).toEqual([202, 202, 403, 403, 403, 403]);
  const usage = await world.request(key, 'GET', '/api/v1/usage');
  expect(usage.json.links.used).toBe(400);
});

test.each([
  ['rpd', /day/, 86_400],
  ['rpmonth', /month/, 31 * 86_400],
])('a Custom limit on %s is reached and refused', async (name, window, maxWait) => {
  const { key } = await world.caller('custom', { [name]: 3 });
  for (let count = 0; count < 3; count++) {
    expect((await world.request(key, 'POST', LINKS, { target_url: TARGET })).status).toBe(201);
  }
  const refused = await world.request(key, 'POST', LINKS, { target_url: TARGET });
  expectRateLimited(refused, 3, window, maxWait);
  const usage = await world.request(key, 'GET', '/api/v1/usage');
  expect(usage.json.links.used).toBe(3);
});

test('limits belong to the account, over all its keys, and survive a restart', async () => {
  const { account, key } = await world.caller('custom', { rpm: 4 });
  const second = await world.key(account.id);
  const poll = (k: string) => world.request(k, 'GET', '/api/v1/jobs/unknown');
  expect((await poll(key)).status).toBe(404);
  expect((await poll(second.key)).status).toBe(404);
  expect((await world.request(key, 'POST', LINKS, { target_url: TARGET })).status).toBe(201);
  await world.restart();
  expect((await poll(second.key)).status).toBe(404);
  expect((await poll(key)).status).toBe(429);
  expect((await poll(second.key)).status).toBe(429);
});

test('waiting out Retry-After succeeds', async () => {
  const { key } = await world.caller('custom', { rpm: 1 });
  const poll = () => world.request(key, 'GET', '/api/v1/jobs/unknown');
  // Only this test waits until a window really ends, which happens soon.
  await world.setClock({ now: MID_MINUTE + 26_000, runs: true });
  let answer = await poll();
  while (answer.status !== 429) answer = await poll();
  const seconds = Number(answer.headers.get('retry-after'));
  // The clocks of several servers differ by the time that it took to set them.
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000 + 2_500));
  expect((await poll()).status).toBe(404);
});

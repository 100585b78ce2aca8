import { DatabaseSync } from 'node:sqlite';
import { PLAN_LIMITS } from '@shortlink/sdk/wire';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { World } from '../src/world.ts';

/** Today, in the middle of a minute. The clock of the server stands still there. */
const NOW = new Date().setUTCHours(10, 20, 30, 0);
const [YEAR, MONTH, DAY] = [
  new Date(NOW).getUTCFullYear(),
  new Date(NOW).getUTCMonth(),
  new Date(NOW).getUTCDate(),
];
let world: World;
let database: DatabaseSync;

beforeAll(async () => {
  world = await World.create({ hasMovableClock: true });
  await world.setClock({ now: NOW, runs: false });
  database = new DatabaseSync(world.database.replace('sqlite:', ''), { timeout: 30_000 });
});
afterAll(async () => {
  database.close();
  await world[Symbol.asyncDispose]();
});

/** A million requests take a minute to send, so the counter starts near its limit. Other tests count from zero. */
function countEarlier(accountId: string, window: 'day' | 'month', startsAt: number, used: number) {
  const sql =
    'INSERT INTO request_counters (account_id, period, starts_at, used) VALUES (?, ?, ?, ?)';
  database.prepare(sql).run(accountId, window, startsAt, used);
}

const poll = (key: string) => world.request(key, 'GET', '/api/v1/jobs/unknown');

describe.each(['community', 'pro', 'avance'] as const)('the %s plan', (plan) => {
  const { requests_per_day, requests_per_month } = PLAN_LIMITS[plan];

  test.each([
    [
      'requests a day',
      'day',
      requests_per_day,
      Date.UTC(YEAR, MONTH, DAY),
      Date.UTC(YEAR, MONTH, DAY + 1),
    ],
    [
      'requests a month',
      'month',
      requests_per_month,
      Date.UTC(YEAR, MONTH, 1),
      Date.UTC(YEAR, MONTH + 1, 1),
    ],
  ] as const)('%s', async (_name, window, limit, startsAt, endsAt) => {
    if (limit === null) throw new Error('every plan but custom has limits');
    const { account, key } = await world.caller(plan);
    countEarlier(account.id, window, startsAt, limit - 2);
    expect((await poll(key)).status).toBe(404);
    expect((await poll(key)).status).toBe(404);
    const refused = await poll(key);
    expect(refused.status).toBe(429);
    expect(refused.json.error).toContain(limit.toLocaleString('en-US'));
    expect(refused.json.error).toContain(window);
    expect(refused.headers.get('retry-after')).toBe(String((endsAt - NOW) / 1_000));
    await world.setClock({ now: endsAt, runs: false });
    expect((await poll(key)).status).toBe(404);
    await world.setClock({ now: NOW, runs: false });
  });
});

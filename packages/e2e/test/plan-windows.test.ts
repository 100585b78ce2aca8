import { createHash } from 'node:crypto';
import { PLAN_LIMITS } from '@shortlink/sdk/wire';
import { openSqliteStore, type Store } from '@shortlink/server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { World } from '../src/world.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
let world: World;
let store: Store;

beforeAll(async () => {
  world = await World.create();
  store = await openSqliteStore({
    path: world.database.replace('sqlite:', ''),
    publicUrl: world.server.url,
  });
});
afterAll(async () => {
  await store.close();
  await world[Symbol.asyncDispose]();
});

/**
 * Counts requests of the past, as they would have come: at most the plan's rate in any minute and day. The windows of
 * the present stay untouched, so that what the server then refuses is refused by the window under test.
 */
async function countEarlier(key: string, plan: 'community' | 'pro' | 'avance', times: Times) {
  const { requests_per_minute: perMinute, requests_per_day: perDay } = PLAN_LIMITS[plan];
  const caller = await store.findKeyByHash(createHash('sha256').update(key).digest());
  if (!caller) throw new Error('no such key');
  let left = times.count;
  for (const day of times.days) {
    let leftOfDay = Math.min(left, perDay);
    for (const minute of times.minutes) {
      const count = Math.min(leftOfDay, perMinute);
      const admissions = await Promise.all(
        Array.from({ length: count }, () => store.admit(caller, day + minute * MINUTE_MS)),
      );
      if (!admissions.every((admission) => admission.admitted))
        throw new Error('refused too early');
      leftOfDay -= count;
      left -= count;
      if (leftOfDay === 0) break;
    }
  }
  expect(left).toBe(0);
}

interface Times {
  count: number;
  /** Beginnings of UTC days. */
  days: number[];
  /** Minutes of the day. */
  minutes: number[];
}

const startOfDay = (time: number) => time - (time % DAY_MS);
const poll = (key: string) => world.request(key, 'GET', '/api/v1/jobs/unknown');

describe.each(['community', 'pro', 'avance'] as const)('the %s plan', (plan) => {
  const limits = PLAN_LIMITS[plan];

  test(`${limits.requests_per_day} requests a day`, async () => {
    const { key } = await world.caller(plan);
    const now = Date.now();
    const thisMinute = Math.floor((now % DAY_MS) / MINUTE_MS);
    const minutes = Array.from({ length: 1440 }, (_, minute) => minute).filter(
      (minute) => Math.abs(minute - thisMinute) > 2,
    );
    await countEarlier(key, plan, {
      count: limits.requests_per_day - 1,
      days: [startOfDay(now)],
      minutes,
    });
    expect((await poll(key)).status).toBe(404);
    const refused = await poll(key);
    expect(refused.status).toBe(429);
    expect(refused.json.error).toContain(limits.requests_per_day.toLocaleString('en-US'));
    expect(refused.json.error).toMatch(/day/);
    const untilMidnight = (startOfDay(now) + DAY_MS - Date.now()) / 1000;
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(untilMidnight - 2);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(untilMidnight + 60);
  });

  test(`${limits.requests_per_month} requests a month`, async () => {
    const { key } = await world.caller(plan);
    const date = new Date();
    const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
    const nextMonth = Date.UTC(year, month + 1, 1);
    const days = Array.from({ length: 31 }, (_, day) => Date.UTC(year, month, day + 1)).filter(
      (day) => day < nextMonth && Math.abs(day - startOfDay(date.getTime())) > DAY_MS,
    );
    const minutes = Array.from({ length: 1440 }, (_, minute) => minute);
    await countEarlier(key, plan, { count: limits.requests_per_month - 1, days, minutes });
    expect((await poll(key)).status).toBe(404);
    const refused = await poll(key);
    expect(refused.status).toBe(429);
    expect(refused.json.error).toContain(limits.requests_per_month.toLocaleString('en-US'));
    expect(refused.json.error).toMatch(/month/);
    const untilNextMonth = (nextMonth - Date.now()) / 1000;
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(untilNextMonth - 2);
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(untilNextMonth + 60);
  });
});

import { PLAN_LIMITS } from '@shortlink/sdk/wire';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  exceeds,
  rateLimitHeaders,
  refusingWindow,
  requestLimit,
  startOfDay,
  startOfMonth,
  windowState,
  windowsAt,
} from './limits.ts';

test('windows are the clock minute, the UTC day and the calendar month', () => {
  expect(windowsAt(Date.UTC(2026, 1, 28, 23, 59, 59, 999))).toEqual([
    {
      name: 'minute',
      startsAt: Date.UTC(2026, 1, 28, 23, 59),
      endsAt: Date.UTC(2026, 2, 1),
    },
    { name: 'day', startsAt: Date.UTC(2026, 1, 28), endsAt: Date.UTC(2026, 2, 1) },
    { name: 'month', startsAt: Date.UTC(2026, 1), endsAt: Date.UTC(2026, 2) },
  ]);
});

test('February of a leap year has 29 days, and December ends with the year', () => {
  const [, , february] = windowsAt(Date.UTC(2028, 1, 29));
  expect(february).toMatchObject({ startsAt: Date.UTC(2028, 1), endsAt: Date.UTC(2028, 2) });
  const [, , december] = windowsAt(Date.UTC(2026, 11, 31, 23, 59));
  expect(december.endsAt).toBe(Date.UTC(2027, 0));
});

test('every moment lies in its windows, and the next window begins where one ends', () => {
  const moment = fc.integer({ min: 0, max: Date.UTC(2100, 0) });
  fc.assert(
    fc.property(moment, (now) => {
      const windows = windowsAt(now);
      windows.forEach((window, index) => {
        expect(window.name).toBe(['minute', 'day', 'month'][index]);
        expect(window.startsAt).toBeLessThanOrEqual(now);
        expect(now).toBeLessThan(window.endsAt);
        expect(windowsAt(window.startsAt)[index]).toEqual(window);
        expect(windowsAt(window.endsAt - 1)[index]).toEqual(window);
        expect(windowsAt(window.endsAt)[index]?.startsAt).toBe(window.endsAt);
      });
    }),
  );
});

test('days and months are counted from any moment in them', () => {
  const now = Date.UTC(2026, 0, 1, 5);
  expect(startOfDay(now)).toBe(Date.UTC(2026, 0, 1));
  expect(startOfDay(Date.UTC(2026, 0) - 1)).toBe(Date.UTC(2025, 11, 31));
  expect(startOfMonth(now)).toBe(Date.UTC(2026, 0));
});

const NOW = Date.UTC(2026, 2, 10, 12, 30);

function states(used: [minute: number, day: number, month: number]) {
  return windowsAt(NOW).map((window, index) =>
    windowState(window, PLAN_LIMITS.community, used[index] ?? 0),
  );
}

test("each window has the plan's own limit", () => {
  expect(requestLimit(PLAN_LIMITS.community, 'minute')).toBe(15);
  expect(requestLimit(PLAN_LIMITS.community, 'day')).toBe(100);
  expect(requestLimit(PLAN_LIMITS.community, 'month')).toBe(2_000);
  expect(requestLimit(PLAN_LIMITS.custom, 'month')).toBeNull();
});

test.each([
  [[0, 0, 0], undefined],
  [[14, 99, 1_999], undefined],
  [[15, 99, 1_999], 'minute'],
  [[15, 100, 1_999], 'day'],
  [[15, 100, 2_000], 'month'],
  [[0, 100, 0], 'day'],
  [[16, 0, 0], 'minute'],
] as const)('with %j used, %s refuses', (used, name) => {
  expect(refusingWindow(states([...used]))?.name).toBe(name);
});

test('of all that are full the window that ends last refuses, in whatever order they are given', () => {
  expect(refusingWindow(states([15, 100, 2_000]).toReversed())?.name).toBe('month');
  expect(refusingWindow(states([15, 100, 0]).toReversed())?.name).toBe('day');
});

test('of two that end at the same time the shorter one refuses', () => {
  const lastMinute = windowsAt(Date.UTC(2026, 2, 31, 23, 59, 30));
  const full = lastMinute.map((window) => windowState(window, PLAN_LIMITS.community, 2_000));
  expect(refusingWindow(full)?.name).toBe('minute');
});

test('an unlimited window never refuses', () => {
  const windows = windowsAt(NOW).map((window) => windowState(window, PLAN_LIMITS.custom, 1e9));
  expect(refusingWindow(windows)).toBeUndefined();
});

test('a resource may be used up to what is allowed', () => {
  expect(exceeds(15, 14, 1)).toBe(false);
  expect(exceeds(15, 15, 1)).toBe(true);
  expect(exceeds(null, 1e9, 1e9)).toBe(false);
  expect(exceeds(0, 0, 1)).toBe(true);
});

test('the batch size is a limit per request', () => {
  expect(exceeds(PLAN_LIMITS.avance.batch_size, 0, 5_000)).toBe(false);
  expect(exceeds(PLAN_LIMITS.avance.batch_size, 0, 5_001)).toBe(true);
  expect(exceeds(null, 0, 10_000)).toBe(false);
});

const [, , FEBRUARY_2028] = windowsAt(Date.UTC(2028, 1, 29));
const FEBRUARY = { ...FEBRUARY_2028, limit: 100, used: 1 };

test('a month is as long as it is', () => {
  const headers = rateLimitHeaders([FEBRUARY], Date.UTC(2028, 1, 29));
  expect(headers).toEqual({
    'RateLimit-Policy': '"month";q=100;w=2505600',
    RateLimit: '"month";r=99;t=86400',
  });
});

test('seconds are rounded up, and what is left is never negative', () => {
  const minute = { name: 'minute', limit: 1, used: 5, startsAt: 0, endsAt: 60_000 } as const;
  expect(rateLimitHeaders([minute], 58_999)?.RateLimit).toBe('"minute";r=0;t=2');
});

test('unlimited windows are left out', () => {
  const minute = { name: 'minute', limit: null, used: 5, startsAt: 0, endsAt: 60_000 } as const;
  expect(rateLimitHeaders([minute, FEBRUARY], 0)?.['RateLimit-Policy']).toBe(
    '"month";q=100;w=2505600',
  );
  expect(rateLimitHeaders([minute], 0)).toBeUndefined();
});

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { dateOf, startOfDay, startOfMonth, WINDOW_NAMES, windowsAt } from './windows.ts';

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
        expect(window.name).toBe(WINDOW_NAMES[index]);
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
  expect(startOfDay(now, 1)).toBe(Date.UTC(2025, 11, 31));
  expect(startOfMonth(now)).toBe(Date.UTC(2026, 0));
  expect(dateOf(now)).toBe('2026-01-01');
});

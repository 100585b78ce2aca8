import { PLAN_LIMITS } from '@shortlink/sdk/wire';
import { expect, test } from 'vitest';
import { exceeds, exceedsBatchSize, refusingWindow, requestLimit, windowState } from './limits.ts';
import { windowsAt } from './windows.ts';

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
  expect(exceedsBatchSize(PLAN_LIMITS.avance, 5_000)).toBe(false);
  expect(exceedsBatchSize(PLAN_LIMITS.avance, 5_001)).toBe(true);
  expect(exceedsBatchSize({ ...PLAN_LIMITS.custom, batch_size: null }, 10_000)).toBe(false);
});

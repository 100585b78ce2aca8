import { expect, test } from 'vitest';
// @ts-expect-error: the scripts of the page have no types.
import { ago, duration, noticeOf, percent } from '../src/analytics/page/words.js';

const [HOUR, DAY] = [3_600_000, 86_400_000];
const NOW = Date.parse('2026-03-20T12:00:00Z');

test.each([
  [1, '1 s'],
  [59_000, '59 s'],
  [59_001, '1 min'],
  [47 * HOUR, '47 h'],
  [48 * HOUR, '2 days'],
])('a wait of %i ms is said to be %s', (ms, words) => {
  expect(duration(ms)).toBe(words);
});

test.each([
  [59_999, 'just now'],
  [60_000, '1 min ago'],
  [14 * DAY - 1, '14 days ago'],
  [14 * DAY, 'on Mar 6'],
])('what was %i ms ago is said to be %s', (ms, words) => {
  expect(ago(new Date(NOW - ms).toISOString(), NOW)).toBe(words);
});

test.each([
  [0, 0, '100%'],
  [0, 10, '0%'],
  [1, 1_000, '<1%'],
  [999, 1_000, '99%'],
  [11, 10, '100%'],
])('%i of %i is %s', (used, limit, words) => {
  expect(percent(used, limit)).toBe(words);
});

test.each([
  [79, undefined],
  [80, 'There is room for 20 more links in the plan.'],
  [99, 'There is room for 1 more link in the plan.'],
  [100, expect.stringContaining('All 100 links of the plan are used.')],
])('with %i of 100 links, the page says: %s', (used, text) => {
  const unlimited = { used: 5, limit: null };
  const windows = { minute: unlimited, day: unlimited, month: unlimited };
  expect(noticeOf(windows, { used, limit: 100 })?.text).toEqual(text);
});

import { expect, test } from 'vitest';
import {
  bar,
  formatClock,
  formatCount,
  formatDuration,
  formatPercent,
  formatRate,
  plural,
} from './format.ts';

test('counts and plurals', () => {
  expect(formatCount(24_638)).toBe('24,638');
  expect(plural(1, 'row')).toBe('1 row');
  expect(plural(2_000, 'batch', 'batches')).toBe('2,000 batches');
});

test.each([
  [0, '0 s'],
  [4, '0.1 s'],
  [850, '0.9 s'],
  [1_000, '1 s'],
  [4_230, '4.2 s'],
  [9_940, '9.9 s'],
  [9_960, '10 s'],
  [59_400, '59 s'],
  [59_600, '1 min'],
  [192_000, '3 min 12 s'],
  [3_599_600, '1 h'],
  [93_840_000, '1 day 2 h'],
  [86_390_000, '1 day'],
  [7_500_000, '2 h 5 min'],
  [801_060_000, '9 days'],
  [920_000_000, '11 days'],
  [259_199_000, '3 days'],
])('%i ms is %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each([
  [-5, '0:00'],
  [1, '0:01'],
  [6_000, '0:06'],
  [6_001, '0:07'],
  [200_000, '3:20'],
  [93_840_000, '1 day 2 h'],
])('%i ms on the clock is %s', (ms, text) => {
  expect(formatClock(ms)).toBe(text);
});

test('only nothing is 0%, and only all is 100%', () => {
  expect([0, 0.001, 0.259, 0.9999, 1, 2].map(formatPercent)).toEqual([
    '0%',
    '<1%',
    '25%',
    '99%',
    '100%',
    '100%',
  ]);
});

test('rates', () => {
  expect(formatRate(0.25)).toBe('0.3');
  expect(formatRate(2_345.6)).toBe('2,346');
});

test.each([
  [0, '░░░░'],
  [0.001, '█░░░'],
  [0.5, '██░░'],
  [0.999, '███░'],
  [1, '████'],
  [7, '████'],
])('a bar at %d is %s', (fraction, text) => {
  expect(bar(fraction, 4)).toBe(text);
});

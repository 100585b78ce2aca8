import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  bar,
  formatClock,
  formatCount,
  formatDuration,
  formatRate,
  plural,
  wrapWords,
} from './format.ts';

test('counts and plurals', () => {
  expect(formatCount(24_638)).toBe('24,638');
  expect(plural(1, 'row')).toBe('1 row');
  expect(plural(2_000, 'batch', 'batches')).toBe('2,000 batches');
});

test.each([
  [0, '0 ms'],
  [850, '850 ms'],
  [1_000, '1 s'],
  [4_230, '4.2 s'],
  [59_940, '59.9 s'],
  [59_960, '1 min'],
  [200_000, '3 min 20 s'],
  [3_600_000, '1 h'],
  [93_840_000, '26 h 4 min'],
])('%i ms is %s', (ms, text) => {
  expect(formatDuration(ms)).toBe(text);
});

test.each([
  [-5, '0:00'],
  [1, '0:01'],
  [6_000, '0:06'],
  [6_001, '0:07'],
  [200_000, '3:20'],
  [93_840_000, '26:04:00'],
])('%i ms on the clock is %s', (ms, text) => {
  expect(formatClock(ms)).toBe(text);
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

test('breaks at spaces, and nowhere without a terminal', () => {
  expect(wrapWords('one two three', 7)).toBe('one two\nthree');
  expect(wrapWords('one two\nthree', 5)).toBe('one\ntwo\nthree');
  expect(wrapWords('one two three', undefined)).toBe('one two three');
});

test('no word is broken or lost, and a line is longer than the width only where it is one word', () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', ' ', '\n') });
  fc.assert(
    fc.property(text, fc.integer({ min: 1, max: 12 }), (words, width) => {
      const wrapped = wrapWords(words, width);
      expect(wrapped.replaceAll('\n', ' ')).toBe(words.replaceAll('\n', ' '));
      for (const line of wrapped.split('\n')) {
        expect(line.length <= width || !line.includes(' ')).toBe(true);
      }
    }),
  );
});

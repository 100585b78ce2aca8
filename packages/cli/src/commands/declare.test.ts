import { expect, test } from 'vitest';
import { parseCount, parseCountOr, parseDuration } from './declare.ts';

test.each([
  ['90s', 90_000],
  ['5m', 300_000],
  ['26h', 93_600_000],
  ['1d', 86_400_000],
  ['500ms', 500],
  ['1.5h', 5_400_000],
  ['30', 30_000],
  [' 2 H ', 7_200_000],
])('%s is %i ms', (text, ms) => {
  expect(parseDuration(text)).toBe(ms);
});

test.each(['', 'soon', '-5s', '1h30m', '5 weeks', '1e3', '9999999999999999d', 's'])(
  '%j is no duration',
  (text) => {
    expect(() => parseDuration(text)).toThrow(/90s, 5m, 26h or 1d/);
  },
);

test('counts have bounds', () => {
  expect(parseCount(1, 10)('10')).toBe(10);
  for (const text of ['0', '11', '1.5', '-1', '', 'x', '0x5']) {
    expect(() => parseCount(1, 10)(text)).toThrow('from 1 to 10');
  }
  expect(() => parseCount(1, Number.MAX_SAFE_INTEGER)('0')).toThrow('from 1 up');
});

test('a word may stand for a number', () => {
  expect(parseCountOr('auto', 1, 10)('auto')).toBe('auto');
  expect(parseCountOr('all', 0, 10)('3')).toBe(3);
  expect(() => parseCountOr('all', 0, 10)('none')).toThrow();
});

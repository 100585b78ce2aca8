import { expect, test } from 'vitest';
import { parseIdempotencyKey } from './links.ts';

test.each([
  ['8e03978e-40d5-43dd-bc93-6894a57f9324', '8e03978e-40d5-43dd-bc93-6894a57f9324'],
  ['"8e03978e"', '8e03978e'],
  ['"with space"', 'with space'],
  ['"a\\"b\\\\c"', 'a"b\\c'],
  ["it's", "it's"],
  ['x'.repeat(255), 'x'.repeat(255)],
])('%s is the key %s', (header, key) => {
  expect(parseIdempotencyKey(header)).toBe(key);
});

test.each(['', '""', '"', '"open', 'open"\u0001', 'a b', '"a"b"', '"a\\b"', 'ü', 'x'.repeat(256)])(
  '%j is no key',
  (header) => {
    expect(parseIdempotencyKey(header)).toBeUndefined();
  },
);

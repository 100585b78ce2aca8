import { expect, test } from 'vitest';
import { CODE_ALPHABET, generateCode } from './codes.ts';

test('the alphabet has 57 characters, none read for another', () => {
  expect(new Set(CODE_ALPHABET).size).toBe(57);
  expect(CODE_ALPHABET).toMatch(/^[0-9A-Za-z]+$/);
  expect(CODE_ALPHABET).not.toMatch(/[0O1lI]/);
});

test('codes have 7 characters of the alphabet, every character equally often', () => {
  const counts = new Map<string, number>();
  const codes = Array.from({ length: 20_000 }, generateCode);
  expect(codes.filter((code) => code.length !== 7)).toEqual([]);
  for (const character of codes.join('')) counts.set(character, (counts.get(character) ?? 0) + 1);
  expect([...counts.keys()].toSorted()).toEqual([...CODE_ALPHABET].toSorted());
  // Chi-square with 56 degrees of freedom: above 120 once in a million runs, and far above it with modulo bias.
  const expected = (20_000 * 7) / 57;
  const chiSquare = [...counts.values()].reduce(
    (sum, count) => sum + (count - expected) ** 2 / expected,
    0,
  );
  expect(chiSquare).toBeLessThan(120);
});

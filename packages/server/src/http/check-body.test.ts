import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkStructure, MAX_DEPTH, MAX_MEMBERS } from './check-body.ts';

function accepts(text: string): boolean {
  try {
    checkStructure(Buffer.from(text));
    return true;
  } catch {
    return false;
  }
}

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test('depth is counted exactly', () => {
  expect(accepts(nested(MAX_DEPTH))).toBe(true);
  expect(accepts(nested(MAX_DEPTH + 1))).toBe(false);
  expect(accepts(`[${nested(1)}${`,${nested(15)}`.repeat(9)}]`)).toBe(true);
  expect(accepts(`{"a":${nested(MAX_DEPTH)}}`)).toBe(false);
});

test('members are elements and fields, wherever they stand', () => {
  expect(accepts(`[1${',1'.repeat(MAX_MEMBERS - 1)}]`)).toBe(true);
  expect(accepts(`[1${',1'.repeat(MAX_MEMBERS)}]`)).toBe(false);
  expect(accepts(`[{}${',{}'.repeat(MAX_MEMBERS / 2)}]`)).toBe(false);
});

test('brackets and commas in strings are text, whatever is escaped before them', () => {
  const text = String.raw`["${'[{,'.repeat(600_000)}", "\"[[[[[[[[[[[[[[[[[[", "\\", "\\\"[[[[[[[[[[[[[[[[[["]`;
  expect(JSON.parse(text)).toHaveLength(4);
  expect(accepts(text)).toBe(true);
});

test('whatever JSON.stringify writes is accepted or not as its depth says', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 20 }), (value) => {
      expect(accepts(JSON.stringify(value))).toBe(depthOf(value) <= MAX_DEPTH);
    }),
  );
});

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce((deepest, inner) => Math.max(deepest, depthOf(inner)), 0);
}

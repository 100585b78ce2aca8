import fc from 'fast-check';
import { expect, test } from 'vitest';
import { JsonScan, MAX_DEPTH, MAX_MEMBERS } from './json-scan.ts';

/** Takes a text in pieces of this many bytes. */
function accepts(text: string, pieceBytes = text.length): boolean {
  const scan = new JsonScan();
  const bytes = Buffer.from(text);
  try {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      scan.add(bytes.subarray(at, at + pieceBytes));
    }
    return true;
  } catch {
    return false;
  }
}

const nested = (depth: number) => `${'['.repeat(depth)}${']'.repeat(depth)}`;

test.each([1, 2, 7, 1_000])(
  'depth and members are counted exactly, in pieces of %i bytes',
  (size) => {
    expect(accepts(nested(MAX_DEPTH), size)).toBe(true);
    expect(accepts(nested(MAX_DEPTH + 1), size)).toBe(false);
    expect(accepts(`[${nested(1)}${`,${nested(15)}`.repeat(9)}]`, size)).toBe(true);
    expect(accepts(`{"a":${nested(MAX_DEPTH)}}`, size)).toBe(false);
  },
);

test('members are elements and fields, wherever they stand', () => {
  expect(accepts(`[1${',1'.repeat(MAX_MEMBERS - 1)}]`)).toBe(true);
  expect(accepts(`[1${',1'.repeat(MAX_MEMBERS)}]`)).toBe(false);
  expect(accepts(`[{}${',{}'.repeat(MAX_MEMBERS / 2)}]`)).toBe(false);
});

test('brackets and commas in strings are text, whatever is escaped before them', () => {
  const text = String.raw`["${'[{,'.repeat(600_000)}", "\"[[[[[[[[[[[[[[[[[[", "\\", "\\\"[[[[[[[[[[[[[[[[[["]`;
  expect(JSON.parse(text)).toHaveLength(4);
  for (const size of [1, 3, text.length]) expect(accepts(text, size)).toBe(true);
});

test('whatever JSON.stringify writes is accepted or not as its depth says, in any pieces', () => {
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 20 }), fc.integer({ min: 1, max: 9 }), (value, size) => {
      expect(accepts(JSON.stringify(value), size)).toBe(depthOf(value) <= MAX_DEPTH);
    }),
  );
});

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Object.values(value).reduce((deepest, inner) => Math.max(deepest, depthOf(inner)), 0);
}

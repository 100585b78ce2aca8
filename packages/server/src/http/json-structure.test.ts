import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { JsonStructure, MAX_DEPTH, MAX_MEMBERS, parseJson } from './json-structure.ts';

/** Takes a text in pieces of this many bytes. */
function accepts(text: string, pieceBytes = text.length): boolean {
  const structure = new JsonStructure();
  const bytes = Buffer.from(text);
  try {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      structure.add(bytes.subarray(at, at + pieceBytes));
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

describe('a large text is parsed in pieces as it would be in one', () => {
  const link = (n: number) => ({
    target_url: `https://example.com/ä,[{"\\${n}`,
    tags: [',', `${n}`],
  });
  const links = (count: number) => Array.from({ length: count }, (_, n) => link(n));
  const list = JSON.stringify(links(1_000));

  /** The value, or `undefined` when the text is rejected. */
  async function parse(bytes: Uint8Array): Promise<{ value: unknown; cuts: number }> {
    const structure = new JsonStructure();
    for (let at = 0; at < bytes.length; at += 777) structure.add(bytes.subarray(at, at + 777));
    const { cuts } = structure;
    const value = await parseJson(bytes, cuts).catch(() => undefined);
    return { value, cuts: cuts.length };
  }

  function parseWhole(bytes: Uint8Array): unknown {
    try {
      return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
    } catch {
      return undefined;
    }
  }

  test.each([
    ['a batch', `{"domain_id":"x","links":${list},"more":[1,2]}`],
    ['with spaces', JSON.stringify({ links: links(900) }, undefined, 2)],
    ['two lists of links', `{"links":${list},"links":[1]}`],
    ['two large lists of links', `{"links":${list},"links":${list}}`],
    ['a large list before the links', `{"other":${list},"links":${list}}`],
    ['a large object before the links', `{"o":{${'"a":1,'.repeat(999)}"b":2},"links":[{}]}`],
    ['links in an object', `{"links":{${'"a":1,'.repeat(999)}"b":2}}`],
    ['__proto__', `{"__proto__":{"x":1},"links":${list}}`],
    ['a list', `[${list}]`],
    ['nothing between two commas', `{"links":${list.replace('},{', '},,{')}}`],
    ['many commas', `{"links":[1${','.repeat(999)}]}`],
    ['many commas with spaces', `{"links":[1${', '.repeat(999)}]}`],
    ['a comma at the end', `{"links":${list.slice(0, -1)},]}`],
    ['a brace for a bracket', `{"links":${list.slice(0, -1)}}}`],
    ['a bracket within', `{"links":${list.replace(/("500"\]})/, '$1]')}}`],
    ['no end', `{"links":${list}`],
    ['more after the end', `{"links":${list}}}`],
    ['a byte order mark at the beginning', `\ufeff{"links":${list}}`],
    ['a byte order mark within', `{"links":${list.replaceAll('},{', '},\ufeff{')}}`],
  ])('%s', async (_, text) => {
    const bytes = Buffer.from(text);
    const { value, cuts } = await parse(bytes);
    expect(isDeepStrictEqual(value, parseWhole(bytes))).toBe(true);
    expect(cuts).toBeGreaterThan(1);
  });

  test('with bytes that are no UTF-8', async () => {
    const bytes = Buffer.from(`{"links":${list}}`);
    bytes[bytes.length >> 1] = 0xff;
    expect((await parse(bytes)).value).toBeUndefined();
  });

  test('with any byte changed', async () => {
    const bytes = Buffer.from(`{"links":${JSON.stringify(links(450))}}`);
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 0, max: bytes.length - 1 }),
        fc.constantFrom(...Buffer.from('[]{},:"\\ 0')),
        async (at, byte) => {
          const changed = Buffer.from(bytes);
          changed[at] = byte;
          expect(isDeepStrictEqual((await parse(changed)).value, parseWhole(changed))).toBe(true);
        },
      ),
      { numRuns: 300 },
    );
  });
});

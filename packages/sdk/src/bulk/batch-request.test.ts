import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { CreateLinkBody } from '../wire/link.ts';
import { type Batch, entryOf } from './batch-plan.ts';
import { batchRequest, derivedKey, keyOf, openEntries } from './batch-request.ts';

const batchOf = (inputs: CreateLinkBody[], first = 0): Batch<CreateLinkBody> =>
  inputs.map((input, n) => entryOf(input, first + n));

describe('the body of a batch', () => {
  it('is what JSON.stringify makes of the fields, however many links there are', () => {
    const link = fc.record({
      target_url: fc.string(),
      title: fc.option(fc.string(), { nil: undefined }),
      tags: fc.option(fc.array(fc.string()), { nil: undefined }),
    });
    const links = fc
      .array(link, { maxLength: 3 })
      .chain((some) =>
        fc.constantFrom(0, 1, 199, 200, 201, 1_000).map((count) => Array(count).fill(some).flat()),
      );
    fc.assert(
      fc.property(links, fc.option(fc.string(), { nil: undefined }), (all, domain_id) => {
        const json = batchRequest(batchOf(all), domain_id, undefined)?.json;
        if (all.length === 0) expect(json).toBeUndefined();
        else expect(json).toBe(JSON.stringify({ domain_id, links: all }));
      }),
    );
  });

  it('writes no field that is not of a link, not even of what toJSON gives', () => {
    const own = { target_url: 'https://example.com/a', email: 'x' };
    const made = { ...own, toJSON: () => ({ target_url: 'b', password_hash: 'y' }) };
    const accessors = new (class {
      get target_url() {
        return 'c';
      }
    })();
    const batch = batchOf([own, made, accessors]);
    expect(batchRequest(batch, undefined, undefined)?.json).toBe(
      '{"links":[{"target_url":"https://example.com/a"},{"target_url":"b"},{"target_url":"c"}]}',
    );
    expect(batch.map(({ target_url }) => target_url)).toEqual(['https://example.com/a', 'b', 'c']);
  });

  const fine = { target_url: 'https://example.com/' };
  it.each([
    ['a BigInt', { ...fine, title: 5n }, 'BigInt'],
    [
      'a getter that throws',
      {
        get target_url() {
          throw new Error('mine');
        },
      },
      'mine',
    ],
    [
      'a toJSON that throws',
      {
        ...fine,
        toJSON() {
          throw new Error('mine');
        },
      },
      'mine',
    ],
    ['a toJSON without a result', { ...fine, toJSON: () => undefined }, 'undefined'],
  ])('names each link with %s, and keeps the reason', (_, bad, reason) => {
    const links = Array.from({ length: 450 }, () => fine);
    const unknown: unknown = bad;
    links[321] = unknown as CreateLinkBody;
    links[400] = unknown as CreateLinkBody;
    const batch = batchOf(links, 1_000);
    const request = batchRequest(batch, undefined, 'k');
    expect(batch.filter((entry) => entry.refused).map(({ index }) => index)).toEqual([
      1_321, 1_400,
    ]);
    expect(batch[321]?.refused).toMatchObject({
      error: expect.stringContaining('source[1321] must be data that can be written as JSON'),
      cause: { name: 'InvalidOptionError', cause: expect.any(Error) },
    });
    expect(batch[400]?.refused?.error).toContain(reason);
    expect(request).toMatchObject({ count: 448, key: derivedKey('k', [321, 400]) });
    const sent = openEntries(batch).map(({ index }) => index);
    expect(sent.slice(320, 323)).toEqual([1_320, 1_322, 1_323]);
  });
});

describe('keys of batches', () => {
  it('are those of the caller, and nothing else', () => {
    const range = { first: 3, count: 4 };
    expect(keyOf(range, undefined)).toBeUndefined();
    expect(keyOf(range, ({ first, count }) => `${first}-${count}`)).toBe('3-4');
    for (const wrong of ['', 'a b', 'é', 'x'.repeat(256), 5n, undefined, null]) {
      expect(() => keyOf(range, () => wrong as string)).toThrow(/idempotencyKey must be/);
    }
  });

  it('of a batch without some entries are always the same, and one for each set of entries', () => {
    const keys = fc.string({ unit: 'binary-ascii', minLength: 1, maxLength: 255 });
    const sets = fc.uniqueArray(fc.nat(10_000), { minLength: 1, maxLength: 50 });
    fc.assert(
      fc.property(keys, fc.array(sets, { minLength: 2, maxLength: 10 }), (key, lists) => {
        const omissions = lists.map((list) => list.toSorted((a, b) => a - b));
        const derived = omissions.map((list) => derivedKey(key, list));
        expect(omissions.map((list) => derivedKey(key, list))).toEqual(derived);
        expect(new Set(derived).size).toBe(new Set(omissions.map(String)).size);
        for (const one of derived) {
          expect(one).not.toBe(key);
          expect(one.length).toBeLessThanOrEqual(255);
        }
      }),
    );
    expect(derivedKey('k', [])).toBe('k');
    const long = 'x'.repeat(254);
    expect(derivedKey(`${long}a`, [1])).not.toBe(derivedKey(`${long}b`, [1]));
    expect(derivedKey(`${long}a`, [1])).toHaveLength(255);
    expect(derivedKey('k', [1, 2])).not.toBe(derivedKey('k', [12]));
  });
});

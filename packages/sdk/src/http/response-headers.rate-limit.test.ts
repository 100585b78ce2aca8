import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseRateLimit } from './response-headers.ts';

const parse = (state: string, policy = '') =>
  parseRateLimit(new Headers({ RateLimit: state, ...(policy && { 'RateLimit-Policy': policy }) }));

describe('parseRateLimit', () => {
  it('reads what is left of each window, and how large it is', () => {
    expect(
      parse('"minute";r=12;t=34, "day";r=9000;t=3600', '"minute";q=60;w=60, "day";q=10000;w=86400'),
    ).toEqual([
      { name: 'minute', remaining: 12, resetMs: 34_000, quota: 60, windowMs: 60_000 },
      { name: 'day', remaining: 9000, resetMs: 3_600_000, quota: 10_000, windowMs: 86_400_000 },
    ]);
  });

  it.each([
    ['no policy', '"a";r=1;t=2', ''],
    ['another policy', '"a";r=1;t=2', '"b";q=1;w=1'],
    ['a policy that is no list', '"a";r=1;t=2', 'a;;="'],
  ])('knows no size with %s', (_, state, policy) => {
    expect(parse(state, policy)).toEqual([{ name: 'a', remaining: 1, resetMs: 2000 }]);
  });

  it.each([
    ['spaces and other parameters', '"a" ; r=1 ; x="," ;t=2', 1],
    ['a name with a comma and a quote', '"a,\\"b";r=3;t=2', 3],
  ])('reads %s', (_, state, remaining) => {
    expect(parse(state)).toMatchObject([{ remaining, resetMs: 2000 }]);
  });

  it.each([
    '',
    '12',
    '"a"',
    '"a";r=1',
    '"a";t=1',
    '"a";r=-1;t=1',
    'limit=60, remaining=1, reset=2',
  ])('passes over %j', (state) => {
    expect(parse(state)).toEqual([]);
  });

  it('comes to an end whatever a header holds', () => {
    const characters = fc.string({
      unit: fc.constantFrom('"', ';', 'r', '=', ' ', '\\', ',', '1'),
      maxLength: 3000,
    });
    fc.assert(
      fc.property(characters, (text) => void parse(`x${text}`)),
      { numRuns: 300 },
    );
    // A pattern that tries the ways to read a text one after the other would be busy with this for longer than any test may take.
    const parts = ['"a;r=1', ';r=1', '\\', '"a";', ' ; '];
    for (const part of parts) expect(parse(`"a"${part.repeat(20_000)}`)).toEqual([]);
  });
});

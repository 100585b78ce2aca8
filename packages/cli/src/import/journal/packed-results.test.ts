import { describe, expect, it } from 'vitest';
import { alignResults } from './packed-results.ts';

const TARGETS = ['https://a.example/', 'https://b.example/', 'https://a.example/'];

const codesOf = (results: Parameters<typeof alignResults>[1]) =>
  alignResults(TARGETS, results).map((result) => result?.code);

describe('alignResults', () => {
  it('takes results in the order of the links', () => {
    const results = TARGETS.map((target_url, index) => ({ target_url, code: `c${index}` }));
    expect(codesOf(results)).toEqual(['c0', 'c1', 'c2']);
  });

  it('goes by the target URL where results are mixed up or missing', () => {
    expect(codesOf([{ target_url: 'https://b.example', code: 'c1' }])).toEqual([
      undefined,
      'c1',
      undefined,
    ]);
  });

  // The client gives an empty text where a service does not repeat the target URL.
  it.each([{}, { target_url: '' }])(
    'goes by the order where all results are there and name %j',
    (named) => {
      const results = TARGETS.map((_, index) => ({ ...named, code: `c${index}` }));
      expect(codesOf(results)).toEqual(['c0', 'c1', 'c2']);
    },
  );

  it.each([{}, { target_url: '' }])(
    'gives no link to a guessed row where one is missing, and they name %j',
    (named) => {
      const results = [
        { ...named, code: 'c1' },
        { ...named, code: 'c2' },
      ];
      expect(codesOf(results)).toEqual([undefined, undefined, undefined]);
    },
  );
});

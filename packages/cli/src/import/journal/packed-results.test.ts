import { describe, expect, it } from 'vitest';
import { alignResults, packResults, unpackResult } from './packed-results.ts';

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

  it('gives equal links the results that name them, each once', () => {
    const [a = '', b = ''] = TARGETS;
    const [c0, c1, c2] = [
      { target_url: a, code: 'c0' },
      { target_url: b, code: 'c1' },
      { target_url: a, code: 'c2' },
    ] as const;
    expect(codesOf([c2, c1])).toEqual(['c2', 'c1', undefined]);
    expect(codesOf([c1, c0, c2])).toEqual(['c0', 'c1', 'c2']);
  });

  it('gives no link a result that names another target URL', () => {
    const results = TARGETS.map((_, index) => ({
      target_url: `https://x.example/${index}`,
      code: 'x',
    }));
    expect(codesOf(results)).toEqual([undefined, undefined, undefined]);
  });

  it.each(['https://a.example/', 'https://a.example'])(
    'leaves a result with the link at its position, though an equal link before it has none: %s',
    (target_url) => {
      const results = [
        { target_url: 'https://x.example/', code: 'x' },
        { target_url: 'https://b.example', code: 'c1' },
        { target_url, code: 'c2' },
      ];
      expect(codesOf(results)).toEqual([undefined, 'c1', 'c2']);
    },
  );

  it('compares what is no URL as it is', () => {
    const aligned = alignResults(['one', 'two'], [{ target_url: 'two', code: 'c2' }]);
    expect(aligned.map((result) => result?.code)).toEqual([undefined, 'c2']);
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

describe('the results of a batch', () => {
  const created = (code: string, short_url = `https://s.example/${code}`) => ({ code, short_url });
  const unpacked = (...args: Parameters<typeof packResults>) => {
    const packed = packResults(...args);
    return args[0].map((_, index) => unpackResult(packed, index));
  };

  it('come back as they were recorded', () => {
    expect(
      unpacked([
        { error: 'title is refused' },
        created('a'),
        undefined,
        created('b', 'https://other.example/b'),
        created('c'),
        { code: 'd' },
        { short_url: 'https://s.example/e' },
        { ...created('f'), error: 'refused' },
        { ...created('g'), error: '' },
      ]),
    ).toEqual([
      { status: 'failed', error: 'title is refused' },
      { status: 'created', ...created('a') },
      { status: 'unknown', error: expect.stringContaining('does not hold this link') },
      { status: 'created', ...created('b', 'https://other.example/b') },
      { status: 'created', ...created('c') },
      { status: 'unknown', error: expect.any(String) },
      { status: 'unknown', error: expect.any(String) },
      { status: 'failed', error: 'refused' },
      { status: 'created', ...created('g') },
    ]);
  });

  it('are a code each, where all short URLs begin alike', () => {
    expect(packResults([undefined, { error: 'no' }, created('a'), created('b')])).toEqual({
      prefix: 'https://s.example/',
      items: [{ error: '' }, { error: 'no' }, 'a', 'b'],
    });
  });

  it('have no common beginning where a short URL does not end with its code', () => {
    const results = [created('a', 'https://s.example/?c=a&x=1'), created('b')];
    expect(packResults(results)).toEqual({
      prefix: '',
      items: results.map(({ code, short_url }) => [code, short_url]),
    });
    expect(unpacked(results)).toMatchObject(results);
  });

  it('say why a link has none, in the words of the caller if there are any', () => {
    const packed = packResults([{ error: '' }]);
    expect(unpackResult(packed, 0, 'the job has failed')).toEqual({
      status: 'unknown',
      error: 'the job has failed',
    });
    expect(unpackResult(packed, 7, 'the job has failed').status).toBe('unknown');
  });
});

import type { RecordedResult } from '@shortlink/sdk';
import { describe, expect, it } from 'vitest';
import { packResults, statusOf, unpackResult } from './packed-results.ts';

const unpacked = (results: readonly RecordedResult[], missing?: string) => {
  const packed = JSON.parse(JSON.stringify(packResults(results, missing)));
  return results.map((_, index) => {
    const result = unpackResult(packed, index);
    expect(statusOf(packed, index)).toBe(result.status);
    return result;
  });
};

it('keeps codes, short URLs that do not begin like the others, and errors', () => {
  const created = { code: 'a1', short_url: 'https://s.example/a1' };
  const elsewhere = { code: 'b2', short_url: 'https://other.example/go/b2' };
  const refused = { error: 'title is refused' };
  expect(unpacked([created, elsewhere, refused])).toEqual([
    { status: 'created', ...created },
    { status: 'created', ...elsewhere },
    { status: 'failed', ...refused },
  ]);
});

it('a link without a result is unknown, for the reason that its batch has', () => {
  expect(unpacked([{}], 'lost')).toEqual([{ status: 'unknown', error: 'lost' }]);
  expect(unpacked([{ error: '' }])).toEqual([
    { status: 'unknown', error: 'the response of the service does not hold this link' },
  ]);
  expect(statusOf(packResults([]), 0)).toBe('unknown');
});

describe('the results of a batch', () => {
  const created = (code: string, short_url = `https://s.example/${code}`) => ({ code, short_url });
  it('come back as they were recorded', () => {
    expect(
      unpacked([
        { error: 'title is refused' },
        created('a'),
        {},
        created('b', 'https://other.example/b'),
        created('c'),
        { code: 'd' },
        { short_url: 'https://s.example/e' },
        { ...created('f'), error: 'the title was cut' },
        { code: '', short_url: '', error: 'refused' },
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
      { status: 'created', ...created('f') },
      { status: 'failed', error: 'refused' },
      { status: 'created', ...created('g') },
    ]);
  });

  it('are a code each, where all short URLs begin alike', () => {
    expect(packResults([{}, { error: 'no' }, created('a'), created('b')])).toEqual({
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

  it('say why a link has none, also one that is not among them', () => {
    const packed = packResults([{ error: '' }], 'the job has failed');
    expect(unpackResult(packed, 0)).toEqual({ status: 'unknown', error: 'the job has failed' });
    expect(unpackResult(packed, 7)).toEqual({ status: 'unknown', error: 'the job has failed' });
  });
});

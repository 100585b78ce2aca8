import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readBatch, results } from './batch.ts';
import { reader } from './shape.ts';

const ITEM = { target_url: 'https://a.example', code: 'c', short_url: 'https://s.example/c' };

const readResults = reader(results);

describe('results', () => {
  it('returns a list that is as documented as it is, without a copy', () => {
    const sent = [ITEM, { ...ITEM, error: null, more: 1 }];
    expect(readResults(sent)).toBe(sent);
  });

  it.each([
    ['a code of null', { ...ITEM, code: null }, { ...ITEM, code: undefined }],
    ['an empty code', { ...ITEM, code: '' }, { ...ITEM, code: undefined }],
    ['a numeric code', { ...ITEM, code: 7 }, { ...ITEM, code: '7' }],
    ['no target', { code: 'c', short_url: 's' }, { target_url: '', code: 'c', short_url: 's' }],
    ['a reason that is an object', { error: { message: 'bad' } }, { target_url: '', error: 'bad' }],
    ['reasons', { error: ['a', 'b'] }, { target_url: '', error: '["a","b"]' }],
    ['error: false', { ...ITEM, error: false }, ITEM],
    ['error: 0', { ...ITEM, error: 0 }, ITEM],
    ['null', null, { target_url: '' }],
    ['a text', 'c', { target_url: '' }],
  ])('an item with %s takes nothing from the others', (_, odd, read) => {
    expect(readResults([ITEM, odd, ITEM])).toEqual([ITEM, read, ITEM]);
  });

  it('keeps the number of items, and gives each the documented types', () => {
    const text = fc.oneof(fc.string(), fc.constantFrom(null, undefined, 7, false, [], {}));
    const item = fc.record({ target_url: text, code: text, short_url: text, error: text });
    const list = fc.array(fc.oneof({ weight: 5, arbitrary: item }, fc.anything()));
    fc.assert(
      fc.property(list, (values) => {
        const read = readResults(values);
        expect(read).toHaveLength(values.length);
        for (const { target_url, code, short_url, error } of read) {
          expect(typeof target_url).toBe('string');
          for (const field of [code, short_url]) {
            expect(field === undefined || (typeof field === 'string' && field !== '')).toBe(true);
          }
          expect(error ?? '').toBeTypeOf('string');
        }
      }),
    );
  });
});

describe('readBatch', () => {
  const results = [ITEM];

  it.each([
    ['as documented', 200, { status: 'completed', total: 1, results }],
    ['without status and total', 200, { results }],
    ['with another word', 200, { status: 'done', total: null, results }],
    ['with a job that is done', 200, { status: 'completed', job_id: 'j', results }],
    ['with a job that is done, and a status of null', 200, { status: null, job_id: 'j', results }],
    ['as 201', 201, { results }],
  ])('reads results %s', (_, status, value) => {
    const expected = { status: 'completed', total: 1, results };
    expect(readBatch(value, status)).toMatchObject({ data: expected });
  });

  it.each([
    ['as documented', 202, { status: 'processing', job_id: 'j', total: 7 }],
    ['with another word', 202, { status: 'queued', job_id: 'j', total: '7' }],
    ['without status', 202, { job_id: 'j', total: 7 }],
    ['with results to come', 202, { status: 'completed', job_id: 'j', total: 7, results: [] }],
    ['as 200', 200, { status: 'pending', job_id: 'j', total: 7, results: [] }],
  ])('reads a job %s', (_, status, value) => {
    const expected = { status: 'processing', job_id: 'j', total: 7 };
    expect(readBatch(value, status)).toMatchObject({ data: expected });
  });

  it('turns a numeric job_id into a text', () => {
    expect(readBatch({ job_id: 17 }, 202)).toMatchObject({ data: { job_id: '17', total: 0 } });
  });

  it.each([{}, { job_id: null }, { job_id: '' }, { results: null }, { status: 'queued' }])(
    'needs results or a job_id: %j',
    (value) => {
      expect(readBatch(value, 202)).toEqual({ missing: 'results and no job_id' });
    },
  );
});

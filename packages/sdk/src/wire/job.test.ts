import { expect, it } from 'vitest';
import { readJob } from './batch.ts';

const DEFAULTS = { id: '', status: 'processing', total: 0, processed: 0, results: [] };

it.each([
  ['nothing', {}],
  ['nulls', { id: null, status: null, total: null, processed: null, results: null }],
  ['other types', { id: {}, status: 7.5, total: 'many', processed: [], results: 'none' }],
])('%s: reads a poll with defaults', (_, value) => {
  const status = 'status' in value && value.status === 7.5 ? '7.5' : 'processing';
  expect(readJob(value)).toEqual({ data: { ...DEFAULTS, status } });
});

it('turns numbers into texts and numerals into numbers', () => {
  const value = { id: 7, status: 'completed', total: '2', processed: ' 2 ' };
  expect(readJob(value)).toMatchObject({ data: { id: '7', total: 2, processed: 2 } });
});

it('counts the results where a service does not say how many links were processed', () => {
  const results = [{ target_url: 'a' }, { target_url: 'b' }];
  expect(readJob({ results })).toMatchObject({ data: { processed: 2 } });
});

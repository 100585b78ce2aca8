import { expect, it } from 'vitest';
import { toldRequestsPerMinute } from './told-limit.ts';

it.each([
  ['Rate limit exceeded: 60 requests per minute', 60],
  ['At most 3 calls a minute.', 3],
  ['limit 15/min', 15],
  ['limit: 120 rpm', 120],
  ['Too many requests', undefined],
  ['0 requests per minute', undefined],
  ['limit of 100 requests per day', undefined],
  ['wait 30 seconds, then 2 months', undefined],
])('%j names %s requests a minute', (message, limit) => {
  expect(toldRequestsPerMinute(message, 20_000)).toBe(limit);
});

it('takes no limit from a wait that is not for the minute to end', () => {
  expect(toldRequestsPerMinute('60 requests per minute', 60_000)).toBe(60);
  expect(toldRequestsPerMinute('60 requests per minute', 60_001)).toBeUndefined();
  expect(toldRequestsPerMinute('60 requests per minute', undefined)).toBeUndefined();
});

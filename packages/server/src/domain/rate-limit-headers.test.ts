import { expect, test } from 'vitest';
import { rateLimitHeaders } from './rate-limit-headers.ts';

const FEBRUARY = { name: 'month', limit: 100, used: 1, endsAt: Date.UTC(2028, 2) } as const;

test('a month is as long as it is', () => {
  const headers = rateLimitHeaders([FEBRUARY], Date.UTC(2028, 1, 29));
  expect(headers).toEqual({ policy: '"month";q=100;w=2505600', state: '"month";r=99;t=86400' });
});

test('seconds are rounded up, and what is left is never negative', () => {
  const minute = { name: 'minute', limit: 1, used: 5, endsAt: 60_000 } as const;
  expect(rateLimitHeaders([minute], 58_999)?.state).toBe('"minute";r=0;t=2');
});

test('unlimited windows are left out', () => {
  const minute = { name: 'minute', limit: null, used: 5, endsAt: 60_000 } as const;
  expect(rateLimitHeaders([minute, FEBRUARY], 0)?.policy).toBe('"month";q=100;w=2505600');
  expect(rateLimitHeaders([minute], 0)).toBeUndefined();
});

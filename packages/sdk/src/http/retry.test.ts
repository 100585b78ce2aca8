import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createApiError } from '../errors/api-errors.ts';
import { ConnectionError, ResponseShapeError, TimeoutError } from '../errors/call-errors.ts';
import {
  backoffMs,
  finalError,
  isKeyForgotten,
  isRetryable,
  type RetryCall,
  retryWaitMs,
} from './retry.ts';

const GET: RetryCall = { isRead: true, hasIdempotencyKey: false };
const POST: RetryCall = { isRead: false, hasIdempotencyKey: false };
const KEYED: RetryCall = { isRead: false, hasIdempotencyKey: true };

const api = (status: number, retryAfterMs?: number) =>
  createApiError({ message: 'no', status, headers: new Headers(), retryAfterMs });
const upgrade = createApiError({
  message: 'no',
  status: 403,
  headers: new Headers(),
  body: { error: 'no', upgrade: true },
  retryAfterMs: 1000,
});
const lost = (outcome: 'not-sent' | 'unknown') => new ConnectionError('lost', { outcome });
const late = (outcome: 'not-sent' | 'unknown') =>
  new TimeoutError('late', { outcome, timeoutMs: 1 });
const permanent = new ConnectionError('expired', { outcome: 'not-sent', isPermanent: true });
const shape = new ResponseShapeError('odd', { status: 200, path: '' });

describe('isRetryable: the retry table', () => {
  it.each([
    // failure, GET, POST, POST with an idempotency key
    ['429', api(429), true, true, true],
    ['429 with Retry-After', api(429, 1000), true, true, true],
    ['never connected', lost('not-sent'), true, true, true],
    ['connection lost after sending', lost('unknown'), true, false, true],
    ['timeout', late('unknown'), true, false, true],
    ['timeout before sending', late('not-sent'), true, true, true],
    ['500', api(500), true, false, true],
    ['502', api(502), true, false, true],
    ['503', api(503), true, false, true],
    ['504', api(504), true, false, true],
    ['408', api(408), true, false, true],
    ['408 with Retry-After', api(408, 1000), true, false, true],
    ['505', api(505), true, false, true],
    ['520, of a proxy', api(520), true, false, true],
    ['529, of a proxy', api(529), true, false, true],
    ['599', api(599), true, false, true],
    ['an expired certificate', permanent, false, false, false],
    ['303', api(303), false, false, false],
    ['503 with Retry-After', api(503, 1000), true, true, true],
    ['503 with Retry-After 0', api(503, 0), true, true, true],
    ['502 with Retry-After', api(502, 1000), true, false, true],
    ['501', api(501), false, false, false],
    ['409', api(409), false, false, false],
    ['409 with Retry-After', api(409, 1000), false, false, true],
    ['400', api(400), false, false, false],
    ['401', api(401), false, false, false],
    ['403', api(403), false, false, false],
    ['403 with upgrade', upgrade, false, false, false],
    ['404', api(404), false, false, false],
    ['413', api(413), false, false, false],
    ['422', api(422), false, false, false],
    ['a redirect', api(302), false, false, false],
    ['an answer of another shape', shape, false, false, false],
    ['a defect', new TypeError('x is not a function'), false, false, false],
  ])('%s', (_, error, get, post, keyed) => {
    expect([GET, POST, KEYED].map((subject) => isRetryable(error, subject))).toEqual([
      get,
      post,
      keyed,
    ]);
  });
});

describe('retryWaitMs', () => {
  it('is the backoff where the service asks for nothing', () => {
    expect(retryWaitMs(api(503), 3, () => 1)).toBe(2000);
  });

  it('is what the service asks for where that is longer', () => {
    expect(retryWaitMs(api(429, 34_000), 1, () => 1)).toBe(34_000);
  });

  it('is the backoff where that is longer', () => {
    expect(retryWaitMs(api(429, 0), 1, () => 1)).toBe(500);
  });
});

describe('backoffMs', () => {
  it('doubles its ceiling with each attempt up to 30 s', () => {
    const ceilings = [1, 2, 3, 4, 5, 6, 7, 8].map((attempt) => backoffMs(attempt, () => 1));
    expect(ceilings).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]);
  });

  it('never waits less than 100 ms', () => {
    expect(backoffMs(1, () => 0)).toBe(100);
    expect(backoffMs(9, () => 0)).toBe(100);
  });

  it('spreads over the whole range', () => {
    expect(backoffMs(3, () => 0.5)).toBe(1050);
  });

  it('stays within its bounds for any attempt', () => {
    const chance = fc.double({ min: 0, max: 1, noNaN: true });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), chance, (attempt, random) => {
        const ms = backoffMs(attempt, () => random);
        expect(ms).toBeGreaterThanOrEqual(100);
        expect(ms).toBeLessThanOrEqual(30_000);
      }),
    );
  });
});

describe('isKeyForgotten', () => {
  const HOUR_MS = 3_600_000;

  it('is true from 23 hours after the first attempt of a POST that was lost', () => {
    const lostAt = 5 * HOUR_MS;
    const isForgotten = (now: number) => isKeyForgotten({ ...KEYED, lostAt }, now);
    expect(isForgotten(lostAt + 23 * HOUR_MS)).toBe(false);
    expect(isForgotten(lostAt + 23 * HOUR_MS + 1)).toBe(true);
  });

  it('is false where no attempt was lost, and for a GET', () => {
    expect(isKeyForgotten({ ...KEYED, lostAt: undefined }, 100 * HOUR_MS)).toBe(false);
    expect(isKeyForgotten({ ...GET, lostAt: 0 }, 100 * HOUR_MS)).toBe(false);
  });
});

describe('finalError', () => {
  it.each([302, 401, 407, 421])(
    'is unknown for a POST that was lost before a %i, which is given without a look at the key',
    (status) => {
      const last = api(status);
      const error = finalError({ ...KEYED, lostAt: 0 }, last);
      expect(error).toMatchObject({ name: 'ConnectionError', outcome: 'unknown', cause: last });
    },
  );

  it('is the last one for a GET, which creates nothing', () => {
    const last = api(401);
    expect(finalError({ ...GET, lostAt: 0 }, last)).toBe(last);
  });
});

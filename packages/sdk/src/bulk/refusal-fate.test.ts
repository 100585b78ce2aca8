import { describe, expect, it } from 'vitest';
import { createApiError } from '../errors/api-errors.ts';
import {
  ConnectionError,
  InvalidOptionError,
  ResponseShapeError,
  TimeoutError,
} from '../errors/call-errors.ts';
import { apiError, planLimit } from './fake-service.ts';
import { endsRun, refusalFate } from './refusal-fate.ts';

const busy = createApiError({
  message: 'busy',
  status: 503,
  headers: new Headers(),
  retryAfterMs: 1000,
});

describe('refusalFate', () => {
  it.each([400, 413, 422])('fails the batch on %i', (status) => {
    expect(refusalFate(apiError(status, { error: 'x' }))).toBe('failed');
  });

  it.each([
    ['500', apiError(500, { error: 'x' })],
    ['503 without Retry-After', apiError(503, { error: 'x' })],
    ['409', apiError(409, { error: 'x' })],
    ['422 for an idempotency key', apiError(422, { error: 'x', code: 'idempotency_conflict' })],
    ['a lost connection', new ConnectionError('x', { outcome: 'unknown' })],
    ['a timeout', new TimeoutError('x', { outcome: 'unknown', timeoutMs: 1 })],
    ['an answer that can not be read', new ResponseShapeError('x', { status: 200, path: '' })],
  ])('leaves the batch unknown on %s', (_, error) => {
    expect(refusalFate(error)).toBe('unknown');
  });

  it.each([
    ...[401, 403, 404, 405, 415, 429].map((status) => apiError(status, { error: `${status}` })),
    planLimit(),
    busy,
    new ConnectionError('refused', { outcome: 'not-sent' }),
    new TimeoutError('while waiting', { outcome: 'not-sent', timeoutMs: 1 }),
    new InvalidOptionError('timeoutMs', 'a number'),
  ])('ends the run, with the batch unsent, on $message', (error) => {
    expect(refusalFate(error)).toBe('unsent');
  });
});

describe('endsRun', () => {
  it('is true for what the next request would meet too', () => {
    for (const status of [401, 403, 429])
      expect(endsRun(apiError(status, { error: 'x' }))).toBe(true);
    for (const status of [404, 500]) expect(endsRun(apiError(status, { error: 'x' }))).toBe(false);
    expect(endsRun(new ConnectionError('lost', { outcome: 'unknown' }))).toBe(false);
  });
});

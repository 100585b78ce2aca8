import { describe, expect, it } from 'vitest';
import { apiError, badRequest, planLimit } from '../../test/fake-service.ts';
import { ApiError, createApiError } from '../errors/api-errors.ts';
import {
  ConnectionError,
  InvalidOptionError,
  ResponseShapeError,
  TimeoutError,
} from '../errors/call-errors.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { ErrorBody } from '../wire/error-body.ts';
import {
  endsRun,
  type FailedRequest,
  isEntryError,
  judgeError,
  refuseEntries,
  type Verdict,
} from './batch-error.ts';

const busy = createApiError({
  message: 'busy',
  status: 503,
  headers: new Headers(),
  retryAfterMs: 1000,
});

const REQUEST = { count: 10, largestTaken: 0, hasOwnKey: false, hasDomain: false, mayFill: true };

/** What {@link judgeError} decides about a request of 10 links. */
function judge(error: ShortlinkError, request: Partial<FailedRequest> = {}) {
  return judgeError(error, { ...REQUEST, ...request });
}

describe('judgeError', () => {
  it.each([400, 413, 422])('splits a batch on %i, and fails a single link', (status) => {
    expect(judge(apiError(status, { error: 'x' }))).toEqual({ type: 'split' });
    expect(judge(apiError(status, { error: 'x' }), { count: 1 })).toEqual({ type: 'failed' });
  });

  it('fails a batch on 422 when the caller gives keys: another body may have used the key', () => {
    expect(judge(apiError(422, { error: 'x' }), { hasOwnKey: true })).toEqual({ type: 'failed' });
    expect(judge(apiError(400, { error: 'x' }), { hasOwnKey: true })).toEqual({ type: 'split' });
  });

  it('ends the run when the domain of the whole run is refused, and not for the domain of a link', () => {
    const domain = badRequest([{ field: 'domain_id', message: 'is not a domain of this account' }]);
    expect(judge(domain, { hasDomain: true })).toEqual({ type: 'unsent' });
    expect(judge(domain, { hasDomain: true, count: 1 })).toEqual({ type: 'unsent' });
    expect(judge(domain)).toEqual({ type: 'split' });
    const entry = badRequest([{ index: 4, field: 'domain_id', message: 'x' }]);
    expect(judge(entry, { hasDomain: true })).toEqual({ type: 'split' });
    expect(judge(badRequest([]), { hasDomain: true })).toEqual({ type: 'split' });
    const both = badRequest([
      { field: 'domain_id', message: 'x' },
      { index: 0, field: 'title', message: 'x' },
    ]);
    expect(judge(both, { hasDomain: true })).toEqual({ type: 'split' });
    const size = badRequest([{ field: 'links', message: 'too many' }]);
    expect(judge(size, { hasDomain: true })).toEqual({ type: 'split' });
    const page = createApiError({ message: 'too large', status: 413, headers: new Headers() });
    expect(judge(page, { hasDomain: true })).toEqual({ type: 'split' });
  });

  it.each([
    ['500', apiError(500, { error: 'x' })],
    ['503 without Retry-After', apiError(503, { error: 'x' })],
    ['409', apiError(409, { error: 'x' })],
    ['422 for an idempotency key', apiError(422, { error: 'x', code: 'idempotency_conflict' })],
    ['400 for an idempotency key', apiError(400, { error: 'x', code: 'idempotency_conflict' })],
    ['a lost connection', new ConnectionError('x', { outcome: 'unknown' })],
    ['a timeout', new TimeoutError('x', { outcome: 'unknown', timeoutMs: 1 })],
    ['an answer that can not be read', new ResponseShapeError('x', { status: 200, path: '' })],
  ])('leaves the batch unknown on %s', (_, error) => {
    expect(judge(error)).toEqual({ type: 'unknown' });
  });

  it.each([
    ...[401, 403, 404, 405, 415, 429].map((status) => apiError(status, { error: `${status}` })),
    planLimit(),
    busy,
    new ConnectionError('refused', { outcome: 'not-sent' }),
    new TimeoutError('while waiting', { outcome: 'not-sent', timeoutMs: 1 }),
    new InvalidOptionError('timeoutMs', 'a number'),
  ])('ends the run, with the batch unsent, on $message', (error) => {
    expect(judge(error)).toEqual({ type: 'unsent' });
  });
});

describe('judgeError of a batch size', () => {
  const ofBatchSize = (allowed?: number) => planLimit({ limit: 'batch_size', allowed });
  const sizeOf = (refusal: Verdict) => (refusal.type === 'resized' ? refusal.size : refusal.type);

  it.each([
    [10_000, 5_000],
    [9_999, 5_000],
    [5_001, 5_000],
    [5_000, 100],
    [101, 100],
    [100, 'unsent'],
    [1, 'unsent'],
  ])('goes from %i to %s', (count, smaller) => {
    expect(sizeOf(judge(ofBatchSize(), { count }))).toBe(smaller);
    expect(sizeOf(judge(planLimit(), { count }))).toBe(smaller);
  });

  it.each([
    [700, 700],
    [1, 1],
    [0, 5_000],
    [-5, 5_000],
    [0.5, 5_000],
    [10_000, 5_000],
    [Number.NaN, 5_000],
  ])('takes an allowed size of %d as %i', (allowed, smaller) => {
    expect(sizeOf(judge(ofBatchSize(allowed), { count: 10_000 }))).toBe(smaller);
  });

  it('does not take the allowed number of an unnamed limit for a batch size', () => {
    expect(sizeOf(judge(planLimit({ allowed: 15 }), { count: 10_000 }))).toBe(5_000);
  });

  it('does not blame a size that was taken before, unless the service names it', () => {
    const taken = { count: 5_000, largestTaken: 5_000 };
    expect(sizeOf(judge(planLimit(), taken))).toBe('unsent');
    expect(sizeOf(judge(planLimit(), { ...taken, count: 5_001 }))).toBe(5_000);
    expect(sizeOf(judge(ofBatchSize(), taken))).toBe(100);
  });
});

describe('judgeError of the total of links', () => {
  const full = (body: Partial<ErrorBody>) => planLimit({ limit: 'links', ...body });

  it.each([
    [
      { used: 870, allowed: 1_000 },
      { type: 'filled', room: 130 },
    ],
    [
      { used: 999, allowed: 1_000 },
      { type: 'filled', room: 1 },
    ],
    [
      { used: 0, allowed: 299 },
      { type: 'filled', room: 299 },
    ],
    // The numbers don't explain the refusal.
    [{ used: 0, allowed: 300 }, { type: 'unsent' }],
    [{ used: 1_000, allowed: 1_000 }, { type: 'unsent' }],
    [{ used: 1_001, allowed: 1_000 }, { type: 'unsent' }],
    [{ used: -5, allowed: 100 }, { type: 'unsent' }],
    [{ used: 0.5, allowed: 100 }, { type: 'unsent' }],
    [{ used: Number.NaN, allowed: 100 }, { type: 'unsent' }],
    [{ used: 10 }, { type: 'unsent' }],
    [{ allowed: 10 }, { type: 'unsent' }],
    [{}, { type: 'unsent' }],
  ])('with %j is %j for 300 links', (body, refusal) => {
    expect(judge(full(body), { count: 300 })).toEqual(refusal);
  });

  it('is filled no more once that was tried too often, and never for keys', () => {
    const room = { used: 0, allowed: 5 };
    expect(judge(full(room), { mayFill: false })).toEqual({ type: 'unsent' });
    expect(judge(planLimit({ limit: 'api_keys', ...room }))).toEqual({ type: 'unsent' });
  });

  it('is what an unnamed limit must be once the size was taken', () => {
    const unnamed = planLimit({ used: 5, allowed: 9 });
    expect(judge(unnamed, { count: 10, largestTaken: 10 })).toEqual({ type: 'filled', room: 4 });
    expect(judge(unnamed, { count: 200, largestTaken: 10 })).toEqual({
      type: 'resized',
      size: 100,
    });
  });

  it('is what an unnamed limit must be where no plan has a smaller batch size', () => {
    const unnamed = planLimit({ used: 5, allowed: 9 });
    expect(judge(unnamed, { count: 10, largestTaken: 0 })).toEqual({ type: 'filled', room: 4 });
  });
});

describe('refuseEntries', () => {
  /** Why entries of a batch of three were refused, by their position. */
  function refusedEntries(error: ApiError) {
    const inputs = ['a', 'b', 'c'].map((target_url) => ({ target_url }));
    const batch = { first: 7, inputs, targets: [], refused: new Map() };
    refuseEntries(batch, false, error);
    return [...batch.refused].map(([position, { error }]) => [position, error]);
  }

  it('joins the reasons of an entry, and ignores positions that the request does not have', () => {
    const details = [
      { index: 1, field: 'target_url', message: 'not a URL' },
      { index: 1, field: 'title', message: 'too long' },
      { field: 'links', message: 'no position' },
      ...[-1, 3, 1.5, Number.NaN, 1e300].map((index) => ({ index, field: 'x', message: 'x' })),
    ];
    expect(refusedEntries(badRequest(details))).toEqual([
      [8, 'target_url: not a URL; title: too long'],
    ]);
    expect(refusedEntries(badRequest())).toEqual([]);
  });

  it('has the words that there are: of the field, of the message, or of the response', () => {
    const details = [
      { index: 0, field: '', message: 'not a URL' },
      { index: 1, field: 'title', message: '' },
      { index: 2, field: '', message: '' },
    ];
    const reasons = refusedEntries(badRequest(details)).map(([, reason]) => reason);
    expect(reasons).toEqual(['not a URL', 'title', 'links[1]: bad']);
  });
});

describe('isEntryError', () => {
  it.each([400, 422])('is false for a %i about an idempotency key', (status) => {
    const body = { error: 'x', code: 'idempotency_conflict' };
    const error = new ApiError({ message: 'x', status, headers: new Headers(), body });
    expect(isEntryError(error, true)).toBe(false);
    expect(isEntryError(error, false)).toBe(false);
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

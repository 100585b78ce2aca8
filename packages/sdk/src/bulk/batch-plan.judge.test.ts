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
import { endsRun } from './batch-life.ts';
import { BatchPlan, entryOf, isEntryError } from './batch-plan.ts';
import { refuseEntries } from './batch-request.ts';

const busy = createApiError({
  message: 'busy',
  status: 503,
  headers: new Headers(),
  retryAfterMs: 1000,
});

interface Scene {
  /** Links in the request. @default 10 */
  count?: number;
  /** The most that the service took in one request. @default 0 */
  largestTaken?: number;
  hasOwnKey?: boolean;
  hasDomain?: boolean;
}

/** What a plan decides about a request of 10 links, and the size of the batches after that. */
function decide(error: ShortlinkError, scene: Scene = {}) {
  const { count = 10, largestTaken = 0, hasOwnKey, hasDomain } = scene;
  const plan = new BatchPlan({
    batchSize: 10_000,
    ...(hasOwnKey && { idempotencyKey: () => 'key' }),
    ...(hasDomain && { domain_id: 'd' }),
  });
  plan.taken(largestTaken, largestTaken);
  const verdict = plan.judge(error, count, count);
  return { verdict, size: plan.size, isFilling: plan.goesAlone(0) };
}

const judge = (error: ShortlinkError, scene?: Scene) => decide(error, scene).verdict;

/** Cut into halves, and no size or room learned. */
const HALVES = { verdict: 5, size: 10_000, isFilling: false };

describe('the judgement of an error', () => {
  it.each([400, 413, 422])('splits a batch on %i, and fails a single link', (status) => {
    expect(decide(apiError(status, { error: 'x' }))).toEqual(HALVES);
    expect(judge(apiError(status, { error: 'x' }), { count: 1 })).toBe('failed');
  });

  it('fails a batch on 422 when the caller gives keys: another body may have used the key', () => {
    expect(judge(apiError(422, { error: 'x' }), { hasOwnKey: true })).toBe('failed');
    expect(decide(apiError(400, { error: 'x' }), { hasOwnKey: true })).toEqual(HALVES);
  });

  it('ends the run when the domain of the whole run is refused, and not for the domain of a link', () => {
    const domain = badRequest([{ field: 'domain_id', message: 'is not a domain of this account' }]);
    expect(judge(domain, { hasDomain: true })).toBe('unsent');
    expect(judge(domain, { hasDomain: true, count: 1 })).toBe('unsent');
    expect(decide(domain)).toEqual(HALVES);
    const entry = badRequest([{ index: 4, field: 'domain_id', message: 'x' }]);
    expect(decide(entry, { hasDomain: true })).toEqual(HALVES);
    expect(decide(badRequest([]), { hasDomain: true })).toEqual(HALVES);
    const both = badRequest([
      { field: 'domain_id', message: 'x' },
      { index: 0, field: 'title', message: 'x' },
    ]);
    expect(decide(both, { hasDomain: true })).toEqual(HALVES);
    const size = badRequest([{ field: 'links', message: 'too many' }]);
    expect(decide(size, { hasDomain: true })).toEqual(HALVES);
    const page = createApiError({ message: 'too large', status: 413, headers: new Headers() });
    expect(decide(page, { hasDomain: true })).toEqual(HALVES);
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
    expect(judge(error)).toBe('unknown');
  });

  it.each([
    ...[401, 403, 404, 405, 415, 429].map((status) => apiError(status, { error: `${status}` })),
    planLimit(),
    busy,
    new ConnectionError('refused', { outcome: 'not-sent' }),
    new TimeoutError('while waiting', { outcome: 'not-sent', timeoutMs: 1 }),
    new InvalidOptionError('timeoutMs', 'a number'),
  ])('ends the run, with the batch unsent, on $message', (error) => {
    expect(judge(error)).toBe('unsent');
  });
});

describe('the judgement of a batch size', () => {
  const ofBatchSize = (allowed?: number) => planLimit({ limit: 'batch_size', allowed });
  /** The size of the parts, which is that of the batches from then on too. */
  const sizeOf = (error: ShortlinkError, scene: Scene) => {
    const { verdict, size, isFilling } = decide(error, scene);
    expect([size, isFilling]).toEqual([verdict === 'unsent' ? 10_000 : verdict, false]);
    return verdict;
  };

  it.each([
    [10_000, 5_000],
    [9_999, 5_000],
    [5_001, 5_000],
    [5_000, 100],
    [101, 100],
    [100, 'unsent'],
    [1, 'unsent'],
  ])('goes from %i to %s', (count, smaller) => {
    expect(sizeOf(ofBatchSize(), { count })).toBe(smaller);
    expect(sizeOf(planLimit(), { count })).toBe(smaller);
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
    expect(sizeOf(ofBatchSize(allowed), { count: 10_000 })).toBe(smaller);
  });

  it('does not take the allowed number of an unnamed limit for a batch size', () => {
    expect(sizeOf(planLimit({ allowed: 15 }), { count: 10_000 })).toBe(5_000);
  });

  it('does not blame a size that was taken before, unless the service names it', () => {
    const taken = { count: 5_000, largestTaken: 5_000 };
    expect(sizeOf(planLimit(), taken)).toBe('unsent');
    expect(sizeOf(planLimit(), { ...taken, count: 5_001 })).toBe(5_000);
    expect(sizeOf(ofBatchSize(), taken)).toBe(100);
  });
});

describe('the judgement of the total of links', () => {
  const full = (body: Partial<ErrorBody>) => planLimit({ limit: 'links', ...body });

  it.each<[Partial<ErrorBody>, number | 'unsent']>([
    [{ used: 870, allowed: 1_000 }, 130],
    [{ used: 999, allowed: 1_000 }, 1],
    [{ used: 0, allowed: 299 }, 299],
    // The numbers don't explain the refusal.
    [{ used: 0, allowed: 300 }, 'unsent'],
    [{ used: 1_000, allowed: 1_000 }, 'unsent'],
    [{ used: 1_001, allowed: 1_000 }, 'unsent'],
    [{ used: -5, allowed: 100 }, 'unsent'],
    [{ used: 0.5, allowed: 100 }, 'unsent'],
    [{ used: Number.NaN, allowed: 100 }, 'unsent'],
    [{ used: 10 }, 'unsent'],
    [{ allowed: 10 }, 'unsent'],
    [{}, 'unsent'],
  ])('with %j is %j for 300 links', (body, verdict) => {
    const isFilling = verdict !== 'unsent';
    expect(decide(full(body), { count: 300 })).toEqual({ verdict, size: 10_000, isFilling });
  });

  it('is never filled for keys', () => {
    expect(judge(planLimit({ limit: 'api_keys', used: 0, allowed: 5 }))).toBe('unsent');
  });

  it('is what an unnamed limit must be once the size was taken', () => {
    const unnamed = planLimit({ used: 5, allowed: 9 });
    const filled = { verdict: 4, size: 10_000, isFilling: true };
    expect(decide(unnamed, { count: 10, largestTaken: 10 })).toEqual(filled);
    const resized = { verdict: 100, size: 100, isFilling: false };
    expect(decide(unnamed, { count: 200, largestTaken: 10 })).toEqual(resized);
  });

  it('is what an unnamed limit must be where no plan has a smaller batch size', () => {
    const unnamed = planLimit({ used: 5, allowed: 9 });
    expect(judge(unnamed, { count: 10, largestTaken: 0 })).toBe(4);
  });
});

describe('refuseEntries', () => {
  /** Why entries of a batch of three were refused, by their position. */
  function refusedEntries(error: ApiError) {
    const batch = ['a', 'b', 'c'].map((target_url, n) => entryOf({ target_url }, 7 + n));
    refuseEntries(batch, false, error);
    return batch.flatMap(({ index, refused }) => (refused ? [[index, refused.error]] : []));
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

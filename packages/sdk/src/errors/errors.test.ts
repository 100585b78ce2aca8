import { inspect } from 'node:util';
import { describe, expect, it, vi } from 'vitest';
import { JOB } from '../../test/answers.ts';
import * as sdk from '../index.ts';
import { createApiError } from './api-errors.ts';

/** A plain object: a namespace is not to be looked up by name. */
const classes = { ...sdk };

const api = (status: number, rest: object = {}) =>
  createApiError({ message: 'no', status, headers: new Headers(), ...rest });
const upgradeBody = { error: 'no', upgrade: true, limit: 'links', used: 15, allowed: 15 };

const EXAMPLES = {
  ApiError: () => api(409),
  AuthenticationError: () => api(401),
  BadRequestError: () => api(400),
  ConnectionError: () =>
    new sdk.ConnectionError('no', { outcome: 'unknown', cause: new Error('x') }),
  InvalidOptionError: () => new sdk.InvalidOptionError('maxRetries', 'a whole number'),
  JobFailedError: () => new sdk.JobFailedError('no', { jobId: JOB.id, job: JOB }),
  JobTimeoutError: () => new sdk.JobTimeoutError('no', { jobId: JOB.id, timeoutMs: 1 }),
  NotFoundError: () => api(404),
  PermissionError: () => api(403),
  PlanLimitError: () => api(403, { body: upgradeBody }),
  RateLimitError: () => api(429, { retryAfterMs: 34_000 }),
  ResponseShapeError: () => new sdk.ResponseShapeError('no', { status: 200, path: 'code' }),
  ServerError: () => api(500),
  ShortlinkError: () => new sdk.ShortlinkError('no'),
  TimeoutError: () => new sdk.TimeoutError('no', { outcome: 'unknown', timeoutMs: 1 }),
  UnsupportedError: () => new sdk.UnsupportedError('look-up of links', api(404)),
};
type Name = keyof typeof EXAMPLES;
const NAMES = Object.keys(EXAMPLES) as Name[];
const API_NAMES: Name[] = [
  'ApiError',
  'AuthenticationError',
  'BadRequestError',
  'NotFoundError',
  'PermissionError',
  'PlanLimitError',
  'RateLimitError',
  'ServerError',
  'UnsupportedError',
];

/** Which classes an error of this class belongs to. */
const ancestry = (name: Name) =>
  new Set<Name>([
    'ShortlinkError',
    name,
    ...(API_NAMES.includes(name) ? ['ApiError' as const] : []),
  ]);

describe('every error class', () => {
  it('is exported, and each exported error class is tested here', () => {
    const exported = Object.keys(sdk).filter((name) => name.endsWith('Error'));
    expect(exported.toSorted()).toEqual(NAMES.toSorted());
  });

  it.each(NAMES)('%s knows itself and its bases, by instanceof and by isInstance', (name) => {
    const error = EXAMPLES[name]();
    expect(error.name).toBe(name);
    for (const other of NAMES) {
      expect([other, classes[other].isInstance(error)]).toEqual([other, ancestry(name).has(other)]);
      expect([other, error instanceof classes[other]]).toEqual([other, ancestry(name).has(other)]);
    }
  });

  it.each(NAMES)('%s is known to another copy of the package', async (name) => {
    vi.resetModules();
    const copy = await import('../index.ts');
    const error = EXAMPLES[name]();
    expect(error instanceof copy[name]).toBe(false);
    expect(copy[name].isInstance(error)).toBe(true);
    expect(copy.ShortlinkError.isInstance(error)).toBe(true);
  });

  it.each([undefined, null, 'RateLimitError', {}, new Error('RateLimitError')])(
    'is not %s',
    (value) => {
      for (const name of NAMES) expect(classes[name].isInstance(value)).toBe(false);
    },
  );
});

describe('createApiError', () => {
  it.each([
    [302, 'ApiError'],
    [400, 'BadRequestError'],
    [401, 'AuthenticationError'],
    [403, 'PermissionError'],
    [404, 'NotFoundError'],
    [405, 'ApiError'],
    [409, 'ApiError'],
    [413, 'ApiError'],
    [415, 'ApiError'],
    [422, 'ApiError'],
    [429, 'RateLimitError'],
    [500, 'ServerError'],
    [503, 'ServerError'],
    [599, 'ServerError'],
  ])('%i is %s', (status, name) => {
    expect(api(status).name).toBe(name);
  });

  it('403 with upgrade is PlanLimitError with the limit', () => {
    const fields = { name: 'PlanLimitError', upgrade: true, limit: 'links', used: 15, allowed: 15 };
    expect(api(403, { body: upgradeBody })).toMatchObject(fields);
  });

  it('403 with upgrade alone is PlanLimitError without particulars', () => {
    const error = api(403, { body: { error: 'no', upgrade: true } });
    expect(error).toMatchObject({ name: 'PlanLimitError', limit: undefined, allowed: undefined });
  });

  it('403 with upgrade false is PermissionError', () => {
    expect(api(403, { body: { error: 'no', upgrade: false } }).name).toBe('PermissionError');
  });
});

describe('isOutcomeUnknown', () => {
  it.each([
    [new sdk.ConnectionError('', { outcome: 'unknown' }), true],
    [new sdk.ConnectionError('', { outcome: 'not-sent' }), false],
    [new sdk.TimeoutError('', { outcome: 'unknown', timeoutMs: 1 }), true],
    [new sdk.TimeoutError('', { outcome: 'not-sent', timeoutMs: 1 }), false],
    [api(500), true],
    [api(503), true],
    [api(503, { retryAfterMs: 0 }), false],
    [api(502, { retryAfterMs: 0 }), true],
    [new sdk.ResponseShapeError('', { status: 201, path: '' }), true],
    [api(303), true],
    [api(408), true],
    [api(301), false],
    [api(307), false],
    [api(400), false],
    [api(429), false],
    [new Error('x'), false],
    [undefined, false],
  ])('%o: %s', (error, unknown) => {
    expect(sdk.isOutcomeUnknown(error)).toBe(unknown);
  });
});

describe('JSON.stringify', () => {
  const parse = (error: Error): unknown => JSON.parse(JSON.stringify(error));

  it('writes the message, the fields and the reason of an error', () => {
    const body = { error: 'no', code: 'rate_limited' };
    const headers = new Headers({ 'Retry-After': '34' });
    expect(parse(api(429, { body, headers, retryAfterMs: 34_000 }))).toEqual({
      name: 'RateLimitError',
      message: 'no',
      status: 429,
      code: 'rate_limited',
      body,
      headers: { 'retry-after': '34' },
      retryAfterMs: 34_000,
    });
    const cause = new TypeError('fetch failed');
    const init = { outcome: 'unknown', code: 'ECONNRESET', cause } as const;
    expect(parse(new sdk.ConnectionError('lost', init))).toEqual({
      name: 'ConnectionError',
      message: 'lost',
      outcome: 'unknown',
      code: 'ECONNRESET',
      isPermanent: false,
      cause: 'TypeError: fetch failed',
    });
  });

  it.each(NAMES)('writes the message of %s', (name) => {
    const error = EXAMPLES[name]();
    expect(parse(error)).toMatchObject({ name, message: error.message });
  });
});

it('takes an empty request id for none, as the response of a success does', () => {
  expect(api(500, { headers: new Headers({ 'x-request-id': '' }) }).requestId).toBeUndefined();
});

it('console.log shows what the service said of the request, its headers too', () => {
  const headers = new Headers({ 'retry-after': '34', 'x-request-id': 'r1' });
  const shown = inspect(api(429, { headers, retryAfterMs: 34_000 }));
  for (const part of ['RateLimitError: no', 'status: 429', "'retry-after': '34'", "'r1'"]) {
    expect(shown).toContain(part);
  }
});

it('code is the machine word of the service', () => {
  const body = { error: 'no', code: 'plan_limit', upgrade: true };
  expect(api(403, { body })).toHaveProperty('code', 'plan_limit');
  expect(api(403)).toHaveProperty('code', undefined);
});

it('a class of your own that extends one of these is one of these', () => {
  class OutOfLinksError extends sdk.PlanLimitError {}
  const error = new OutOfLinksError({ message: 'no', status: 403, headers: new Headers() });
  expect(sdk.PlanLimitError.isInstance(error)).toBe(true);
  expect(sdk.RateLimitError.isInstance(error)).toBe(false);
});

it('shows nothing internal where an error is looked at', () => {
  for (const name of NAMES) {
    const error = EXAMPLES[name]();
    const shown: string[] = [];
    for (let each: object = error; each !== Object.prototype; each = Object.getPrototypeOf(each)) {
      shown.push(...Object.getOwnPropertyNames(each));
    }
    expect(shown.filter((field) => /kinds/i.test(field))).toEqual([]);
  }
});

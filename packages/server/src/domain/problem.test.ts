import { describe, expect, test } from 'vitest';
import {
  accountDisabled,
  forbidden,
  gone,
  idempotencyConflict,
  idempotencyInProgress,
  internal,
  invalidInput,
  invalidRequest,
  methodNotAllowed,
  notFound,
  overloaded,
  type Problem,
  payloadTooLarge,
  planLimitReached,
  rateLimited,
  tooManyAtOnce,
  tooManyUsageRequests,
  unauthorized,
  unavailable,
  unsupportedContentEncoding,
  unsupportedMediaType,
} from './problem.ts';

const TITLE = { field: 'title', message: 'title must be a string' };

test.each<[Problem, number, string, RegExp]>([
  [invalidRequest('no JSON'), 400, 'invalid_request', /^no JSON$/],
  [unauthorized('no key'), 401, 'unauthorized', /^no key$/],
  [forbidden(['shortlinks:write']), 403, 'forbidden', /lacks the permission shortlinks:write/],
  [accountDisabled(), 403, 'account_disabled', /account is disabled/],
  [notFound('Job'), 404, 'not_found', /^Job not found/],
  [methodNotAllowed('PUT', ['GET', 'HEAD']), 405, 'method_not_allowed', /PUT .* use GET, HEAD/],
  [idempotencyInProgress(), 409, 'idempotency_conflict', /in progress/],
  [gone(), 410, 'gone', /not active/],
  [payloadTooLarge(1024), 413, 'payload_too_large', /larger than/],
  [unsupportedMediaType(), 415, 'unsupported_media_type', /must be JSON/],
  [unsupportedContentEncoding(), 415, 'unsupported_media_type', /not be compressed/],
  [idempotencyConflict(), 422, 'idempotency_conflict', /used before/],
  [tooManyAtOnce('polls'), 429, 'rate_limited', /one job at a time/],
  [internal('req-1'), 500, 'internal', /req-1/],
  [unavailable(), 503, 'unavailable', /database/],
  [overloaded('Too many jobs.'), 503, 'unavailable', /^Too many jobs\.$/],
])('%o is a response with its status, code and message', (problem, status, code, message) => {
  expect(problem).toMatchObject({ status, code });
  expect(problem.message).toMatch(message);
  expect(problem.body).toMatchObject({ error: problem.message, code });
});

describe('headers tell a client what to do', () => {
  test.each([
    [unauthorized('no key'), { 'WWW-Authenticate': 'ApiKey' }],
    [methodNotAllowed('PUT', ['GET', 'HEAD']), { Allow: 'GET, HEAD' }],
    [unsupportedMediaType(), { Accept: 'application/json' }],
    [unsupportedContentEncoding(), { 'Accept-Encoding': 'identity' }],
    [idempotencyInProgress(), { 'Retry-After': '1' }],
    [tooManyAtOnce('polls'), { 'Retry-After': '1' }],
    [tooManyUsageRequests(30, 12_000, 0), { 'Retry-After': '12' }],
    [unavailable(), { 'Retry-After': '1' }],
    [overloaded('Too many jobs.'), { 'Retry-After': '1' }],
    [invalidRequest('no JSON'), {}],
  ])('%o', (problem, headers) => {
    expect(problem.headers).toEqual(headers);
  });
});

test('too many looks at the usage are told how many are allowed, and when', () => {
  expect(tooManyUsageRequests(30, 12_000, 0)).toMatchObject({ status: 429, code: 'rate_limited' });
  expect(tooManyUsageRequests(30, 12_000, 0).message).toMatch(/30 times per minute.* in 12 s/);
});

describe('refused fields', () => {
  test('of a link: the first is the message, all are details', () => {
    const details = [TITLE, { field: 'tags', message: 'tags must be an array' }];
    const problem = invalidInput(details);
    expect(problem).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(problem.body).toMatchObject({ error: 'title must be a string', details });
    expect(invalidInput([]).message).toBe('invalid input');
  });

  test('of a batch: the message names the entry, if it is about one', () => {
    const details = [{ index: 3, ...TITLE }];
    expect(invalidInput(details).body).toMatchObject({
      error: 'links[3]: title must be a string',
      code: 'invalid_request',
      details,
    });
    expect(invalidInput([{ index: 0, ...TITLE }]).message).toMatch(/^links\[0\]: /);
    expect(invalidInput([TITLE]).message).toBe('title must be a string');
    expect(invalidInput([]).message).toBe('invalid input');
  });
});

test.each([
  [512 * 1024, '512 KiB'],
  [1024 * 1024, '1 MiB'],
  [16 * 1024 * 1024, '16 MiB'],
])('a body above %i bytes is larger than %s', (bytes, size) => {
  expect(payloadTooLarge(bytes).message).toBe(`The request body is larger than ${size}.`);
});

describe('a rate limit', () => {
  const minute = { name: 'minute', limit: 1_500, endsAt: 60_000 } as const;

  test('names the window, what it allows, and the whole seconds until it ends', () => {
    const problem = rateLimited(minute, 47_999);
    expect(problem).toMatchObject({ status: 429, code: 'rate_limited' });
    expect(problem.message).toMatch(/allows 1,500 requests per minute\. Try again in 13 s/);
    expect(problem.headers).toEqual({ 'Retry-After': '13' });
    expect(rateLimited(minute, 48_000).headers).toEqual({ 'Retry-After': '12' });
  });

  test('asks for a second at least, even if the window ends in this moment', () => {
    expect(rateLimited(minute, 60_000).headers).toEqual({ 'Retry-After': '1' });
  });
});

test.each([
  ['links', /^Short link limit reached: 1,000 used, 15 allowed by the plan\. Upgrade/],
  ['batch_size', /^Batch too large: 1,000 links sent, 15 per batch allowed by the plan\. Upgrade/],
  ['api_keys', /^API key limit reached: 1,000 used, 15 allowed by the plan\. Upgrade/],
] as const)(
  'the limit of %s says what is used and allowed, and advises an upgrade',
  (limit, message) => {
    const problem = planLimitReached({ limit, used: 1_000, allowed: 15 });
    expect(problem).toMatchObject({ status: 403, code: 'plan_limit' });
    expect(problem.message).toMatch(message);
    expect(problem.body).toMatchObject({ upgrade: true, limit, used: 1_000, allowed: 15 });
  },
);

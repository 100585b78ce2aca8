import { describe, expect, it } from 'vitest';
import { API_KEY, BASE_URL } from '../test/make-client.ts';
import { resolveOptions } from './client.ts';
import { DEFAULT_OPTIONS, type ShortlinkOptions } from './options.ts';

const resolve = (options: ShortlinkOptions = {}) =>
  resolveOptions({ apiKey: API_KEY, baseUrl: BASE_URL, ...options });

describe('resolveOptions', () => {
  it('fills in the documented defaults, for undefined too', () => {
    const defaults = {
      timeoutMs: 30_000,
      totalTimeoutMs: 0,
      maxRetries: 5,
      maxRetryAfterMs: 90_000,
      requestsPerMinute: Number.POSITIVE_INFINITY,
      maxResponseBytes: 134_217_728,
      idempotency: false,
    };
    expect(DEFAULT_OPTIONS).toEqual(defaults);
    expect(resolve()).toMatchObject(defaults);
    expect(resolve({ timeoutMs: undefined, maxRetries: undefined })).toMatchObject(defaults);
  });

  it('keeps 0 and false', () => {
    const zeros = { timeoutMs: 0, maxRetries: 0, maxRetryAfterMs: 0, idempotency: false };
    expect(resolve(zeros)).toMatchObject(zeros);
  });

  it.each([
    ['https://a.example', 'https://a.example'],
    ['https://a.example/', 'https://a.example'],
    ['http://127.0.0.1:8787//', 'http://127.0.0.1:8787'],
    ['https://a.example/links/', 'https://a.example/links'],
    [new URL('https://a.example'), 'https://a.example'],
  ])('takes %s for the base address', (baseUrl, expected) => {
    expect(resolve({ baseUrl })).toHaveProperty('baseUrl', expected);
  });

  it.each<[string, ShortlinkOptions, string]>([
    ['baseUrl', { baseUrl: 'a.example' }, 'an absolute http: or https: URL, not "a.example"'],
    ['baseUrl', { baseUrl: 'ftp://a.example' }, 'http: or https:'],
    ['baseUrl', { baseUrl: 'ftp://me:p/w@a.example/x' }, 'not "ftp://…@a.example/x"'],
    ['baseUrl', { baseUrl: 'ftp://me:p@w@a.example/x' }, 'not "ftp://…@a.example/x"'],
    ['baseUrl', { baseUrl: 'https://a.example/x/api/v1/' }, 'the address before /api/v1, not'],
    ['baseUrl', { baseUrl: 'https://a.example?x=1' }, 'without a query'],
    ['baseUrl', { baseUrl: 'https://a.example#x' }, 'without a query and fragment'],
    ['baseUrl', { baseUrl: 'https://me:pw@a.example' }, 'without a user name and password'],
    ['baseUrl', { baseUrl: 'https://a.example/api/v1/' }, 'the address before /api/v1'],
    ['apiKey', { apiKey: '' }, 'apiKey is empty'],
    ['apiKey', { apiKey: 'a b' }, 'visible ASCII characters'],
    ['maxResponseBytes', { maxResponseBytes: -1 }, '0 or more bytes'],
    ['timeoutMs', { timeoutMs: -1 }, '0 or more milliseconds, not -1'],
    ['timeoutMs', { timeoutMs: Number.NaN }, 'not NaN'],
    ['totalTimeoutMs', { totalTimeoutMs: -1 }, '0 or more'],
    ['maxRetries', { maxRetries: 1.5 }, 'a whole number from 0, not 1.5'],
    ['maxRetries', { maxRetries: -1 }, 'a whole number from 0'],
    ['maxRetryAfterMs', { maxRetryAfterMs: -1 }, '0 or more'],
    ['requestsPerMinute', { requestsPerMinute: -60 }, 'more than 0 requests, not -60'],
    ['requestsPerMinute', { requestsPerMinute: 0 }, 'more than 0 requests, not 0'],
    ['requestsPerMinute', { requestsPerMinute: Number.NaN }, 'more than 0 requests, not NaN'],
    ['requestsPerMinute', { requestsPerMinute: '5' as never }, 'more than 0 requests, not "5"'],
    ['headers', { headers: { 'a b': 'c' } }, 'named as HTTP allows, not "a b"'],
    ['headers["a"]', { headers: { a: 'b\r\nc' } }, 'without control characters'],
  ])('names %s and what it accepts', (option, options, words) => {
    const act = () => resolve(options);
    expect(act).toThrow(expect.objectContaining({ name: 'InvalidOptionError', option }));
    expect(act).toThrow(words);
  });

  it('takes a header of any name', () => {
    const { headers } = resolve({ headers: new Headers([['__proto__', 'a']]) });
    expect(Object.entries(headers)).toEqual([['__proto__', 'a']]);
  });

  it('allows what has no limit', () => {
    const { POSITIVE_INFINITY } = Number;
    expect(
      resolve({ maxRetries: POSITIVE_INFINITY, maxRetryAfterMs: POSITIVE_INFINITY }),
    ).toBeDefined();
  });
});

import { describe, expect, it, vi } from 'vitest';
import { Shortlink } from '../src/client.ts';
import { isOutcomeUnknown } from '../src/errors/call-errors.ts';
import type { ShortlinkOptions } from '../src/options.ts';
import { json, LINK } from './answers.ts';
import { API_KEY, BASE_URL, makeClient } from './make-client.ts';

/** A service that refuses its first request for a minute, and a client of it. */
function setUp(options: ShortlinkOptions = {}) {
  const requests: { url: string; headers: Record<string, string> }[] = [];
  const fetch = async (url: string, { headers }: { headers: Record<string, string> }) => {
    requests.push({ url, headers });
    if (requests.length === 1) return json({ error: 'no' }, 429, { 'Retry-After': '60' });
    return json(LINK, 201);
  };
  const client = new Shortlink({
    apiKey: API_KEY,
    baseUrl: BASE_URL,
    fetch,
    maxRetries: 0,
    ...options,
  });
  return { client, requests };
}

const create = ({ links }: Shortlink) => links.create({ target_url: 'x' });

describe('withOptions', () => {
  it('replaces some options and keeps the others, and the client itself', async () => {
    const { client, requests } = setUp({ headers: { 'x-team': 'a' }, idempotency: true });
    await create(client).catch(() => {});
    const other = client.withOptions({ apiKey: 'another-key', idempotency: undefined });
    expect(other).toBeInstanceOf(Shortlink);
    await create(other);
    const [first, second] = requests.map(({ headers }) => headers);
    expect(second).toMatchObject({ 'x-team': 'a', 'x-api-key': 'another-key' });
    expect(second).toHaveProperty('idempotency-key');
    expect(first).toHaveProperty('x-api-key', API_KEY);
  });

  it('shares the pause where key and address are the same', async () => {
    const { client, requests } = setUp();
    const other = client.withOptions({ timeoutMs: 1 });
    const third = other.withOptions({ maxRetryAfterMs: 5 });
    await expect(create(client)).rejects.toHaveProperty('name', 'RateLimitError');
    for (const each of [other, third]) {
      await expect(create(each)).rejects.toThrow('Nothing was sent');
    }
    expect(requests).toHaveLength(1);
  });

  it.each<[string, ShortlinkOptions]>([
    ['key', { apiKey: 'another-key' }],
    ['address', { baseUrl: 'https://other.example.com' }],
    ['pace', { requestsPerMinute: 6_000 }],
  ])('shares nothing with a client of another %s', async (_, options) => {
    const { client } = setUp();
    await create(client).catch(() => {});
    await expect(create(client.withOptions(options))).resolves.toEqual(LINK);
  });

  it('keeps key and address of the environment, whatever is there by now', async () => {
    vi.stubEnv('SHORTLINK_API_KEY', API_KEY);
    vi.stubEnv('SHORTLINK_BASE_URL', BASE_URL);
    const { client, requests } = setUp({ apiKey: undefined, baseUrl: undefined });
    vi.unstubAllEnvs();
    await create(client).catch(() => {});
    await expect(create(client.withOptions({}))).rejects.toThrow('Nothing was sent');
    expect(requests[0]?.url).toBe(`${BASE_URL}/api/v1/links`);
  });

  it('checks what it is given', () => {
    const { client } = setUp();
    expect(() => client.withOptions({ timeoutMs: -1 })).toThrow('timeoutMs must be');
  });
});

describe('an unknown option is refused by name', () => {
  const parse = (json: string) => JSON.parse(json);

  it.each([
    ['{"timeout":5}', 'There is no option timeout: use timeoutMs'],
    ['{"retry":5}', 'use maxRetries'],
    ['{"retries":5}', 'use maxRetries'],
    ['{"baseURL":"https://a.example"}', 'use baseUrl'],
    ['{"api_key":"k"}', 'use apiKey'],
    ['{"idempotencyKey":"k"}', 'use idempotency'],
    ['{"fetcher":1}', 'use fetch'],
    ['{"zzz":1}', 'There is no option zzz: the options are apiKey, baseUrl'],
    ['{"0":1}', 'There is no option 0: the options are apiKey, baseUrl'],
    ['{"a":1}', 'There is no option a: the options are apiKey, baseUrl'],
    ['{"key":1}', 'There is no option key: use apiKey'],
    ['{"hooks":{"onRespones":1}}', 'There is no option onRespones: the options are onRequest, '],
    ['{"hooks":{"onEnd":1}}', 'onEnd must be a function'],
    ['{"hooks":5}', 'hooks must be an object'],
    // Options of other calls, which are no misspelt ones of this.
    ['{"total":1}', 'There is no option total: the options are apiKey, baseUrl'],
    ['{"jobTimeout":1}', 'There is no option jobTimeout: use timeoutMs'],
  ])('of the client: %s', (options, words) => {
    const make = () => new Shortlink({ apiKey: API_KEY, baseUrl: BASE_URL, ...parse(options) });
    expect(make).toThrow(expect.objectContaining({ name: 'InvalidOptionError' }));
    expect(make).toThrow(words);
  });

  it('of a call, a wait and withOptions, and nothing is sent', async () => {
    const { client, requests } = setUp();
    const timeout = parse('{"timeout":5}');
    const calls = [
      client.links.create({ target_url: 'x' }, timeout),
      client.links.createBatch({ links: [] }, timeout),
      client.jobs.retrieve('j', timeout),
      client.jobs.wait('j', timeout),
      client.usage.retrieve(timeout),
    ];
    for (const call of calls) {
      const error = await Promise.resolve(call).catch((error: unknown) => error);
      expect(error).toMatchObject({ name: 'InvalidOptionError', option: 'timeout' });
      expect(error).toHaveProperty('message', 'There is no option timeout: use timeoutMs');
      expect(isOutcomeUnknown(error)).toBe(false);
    }
    expect(() => client.withOptions(timeout)).toThrow('use timeoutMs');
    expect(requests).toEqual([]);
  });

  it('unless it is undefined, which always means the default', () => {
    const options: object = { timeout: undefined };
    expect(makeClient(options)).toBeDefined();
  });
});

import { inspect } from 'node:util';
import { describe, expect, it } from 'vitest';
import { Shortlink } from '../src/index.ts';
import type { ShortlinkOptions } from '../src/options.ts';
import { json, LINK } from './answers.ts';
import { API_KEY, BASE_URL, makeClient } from './make-client.ts';

const MESSAGE = `the key ${API_KEY} is unknown`;
const ECHO = { 'x-request-id': API_KEY, 'x-echo': `key=${API_KEY}` };

/** Every way of looking at a value that ends up in logs. */
function everyView(value: unknown): string {
  const views = [
    inspect(value, { depth: Number.POSITIVE_INFINITY, showHidden: true, getters: true }),
    JSON.stringify(value),
    String(value),
  ];
  if (value instanceof Error) {
    views.push(value.stack ?? '', JSON.stringify(value, Object.getOwnPropertyNames(value)));
  }
  try {
    views.push(inspect(structuredClone(value), { depth: Number.POSITIVE_INFINITY }));
  } catch (failure) {
    views.push(inspect(failure, { depth: Number.POSITIVE_INFINITY, showHidden: true }));
  }
  return views.join('\n');
}

/** What a call ends with, and everything it said on the way. */
async function play(fetch: typeof globalThis.fetch, options: ShortlinkOptions = {}) {
  const said: unknown[] = [];
  const say = (...parts: unknown[]) => said.push(...parts);
  const client = makeClient({
    fetch,
    maxRetries: 1,
    hooks: { onRequest: say, onResponse: say, onRetry: say, onCooldown: say },
    logger: { debug: say, info: say, warn: say, error: say },
    ...options,
  });
  const end: unknown = await client.links
    .create({ target_url: LINK.target_url })
    .catch((error: unknown) => error);
  return { end, said, client };
}

describe('the API key is nowhere', () => {
  it('in a client', () => {
    const client = new Shortlink({ apiKey: API_KEY, baseUrl: BASE_URL, headers: { a: API_KEY } });
    expect(everyView(client)).not.toContain(API_KEY);
    expect(everyView([client.links, client.jobs, client.usage])).not.toContain(API_KEY);
  });

  it.each([400, 401, 403, 404, 409, 422, 429, 500, 503])(
    'in the error, events and log lines of a %i that quotes it',
    async (status) => {
      const details = [{ field: API_KEY, message: MESSAGE, [API_KEY]: 1 }];
      const body = { error: MESSAGE, details, [MESSAGE]: { keys: { [API_KEY]: true } } };
      const { end, said } = await play(async () => json(body, status, ECHO));
      expect(end).toHaveProperty('status', status);
      expect(everyView(end)).not.toContain(API_KEY);
      expect(everyView(said)).not.toContain(API_KEY);
    },
  );

  it('in the error of a redirect that has it percent-encoded in its address', async () => {
    const encoded = API_KEY.replaceAll('-', '%2d').replaceAll('_', '%5F');
    const location = `https://login.example.com/?key=${encoded}`;
    const { end } = await play(
      async () => new Response(null, { status: 302, headers: { location } }),
    );
    expect(end).toHaveProperty(
      'message',
      expect.stringContaining('login.example.com/?key=[API key]'),
    );
    expect(everyView(end)).not.toContain(encoded);
  });

  it('in the error of an answer of another shape that escapes it', async () => {
    const escaped = API_KEY.replaceAll('_', '\\u005F');
    const { end } = await play(async () => new Response(`{"echo":"${escaped}"}`, { status: 200 }));
    expect(end).toHaveProperty('body', '{"echo":"[API key]"}');
  });

  it('in the error of a page that quotes it, escaped or not', async () => {
    const { end } = await play(async () => new Response(MESSAGE, { status: 502, headers: ECHO }));
    expect(everyView(end)).not.toContain(API_KEY);
  });

  it('in the error of an answer of another shape', async () => {
    const { end } = await play(async () => json({ [API_KEY]: MESSAGE }));
    expect(end).toHaveProperty('name', 'ResponseShapeError');
    expect(everyView(end)).not.toContain(API_KEY);
  });

  it('in the reason why an item of a batch or job failed, as a text or in a structure', async () => {
    const results = [
      { target_url: LINK.target_url, error: MESSAGE },
      { target_url: `${LINK.target_url}?of=${API_KEY}`, error: { message: MESSAGE } },
      { target_url: LINK.target_url, error: [{ why: MESSAGE }] },
    ];
    const job = { id: 'j', status: 'completed', total: 3, processed: 3, results };
    const fetch = async (url: string) => json(url.endsWith('/j') ? job : { results });
    const client = makeClient({ fetch });
    const links = results.map(({ target_url }) => ({ target_url }));
    const batch = await client.links.createBatch({ links });
    const ended = await client.jobs.wait('j');
    const items = [];
    for await (const item of client.links.createMany(links)) items.push(item);
    const { results: inBatch } = batch.status === 'completed' ? batch : { results: [] };
    const errors = [...inBatch, ...ended.results, ...items].map(
      (item) => 'error' in item && item.error,
    );
    expect(errors).toHaveLength(9);
    for (const error of errors) expect(error).toContain('the key [API key] is unknown');
    // What the caller sent comes back as it was sent.
    expect(inBatch[1]?.target_url).toBe(results[1]?.target_url);
  });

  it('in the error of a lost connection, whose cause carries the request', async () => {
    const { end, said } = await play(async (input) => {
      const cause = Object.assign(new Error(MESSAGE), {
        request: input,
        name: `Lost ${API_KEY}`,
        code: `LOST_${API_KEY}`,
      });
      throw Object.assign(new TypeError('fetch failed', { cause }), { request: input });
    });
    expect(end).toMatchObject({ name: 'ConnectionError', cause: { cause: expect.anything() } });
    expect(everyView(end)).not.toContain(API_KEY);
    expect(everyView(said)).not.toContain(API_KEY);
  });

  it('in the error of a timeout', async () => {
    const { end, said } = await play(() => new Promise(() => {}), { timeoutMs: 10 });
    expect(end).toHaveProperty('name', 'TimeoutError');
    expect(everyView([end, said])).not.toContain(API_KEY);
  });

  it.each([`${API_KEY}\n`, ` ${API_KEY}`, `${API_KEY}é`])('in the error of a bad key', (apiKey) => {
    const make = () => new Shortlink({ apiKey, baseUrl: BASE_URL });
    expect(make).toThrow(expect.objectContaining({ option: 'apiKey' }));
    try {
      make();
    } catch (error) {
      expect(everyView(error)).not.toContain(API_KEY);
    }
  });

  it('in the error of a key and an address that were exchanged', () => {
    const apiKey = 'https://go.example.com';
    const make = () => new Shortlink({ apiKey, baseUrl: 'sk.live:hunter2' });
    expect(make).toThrow('apiKey must be visible ASCII characters without spaces, and no address');
  });

  it('in the error of a bad header value, and a password in none of a bad address', () => {
    const bad = [
      { headers: { 'x-token': 'hunter2\n' } },
      { baseUrl: 'https://me:hunter2@a.example' },
      { baseUrl: 'ftp://me:hunter2@a.example' },
      { baseUrl: 'me:hunter2@a.example' },
      { baseUrl: 'https://me:hunter2/3@a.example' },
      { baseUrl: 'https://me:@hunter2/3@a.example' },
      { baseUrl: 'https://me:hunter2\n/3?#@a.example' },
      { baseUrl: 'https://hunter2:1/3@a.example/api/v1' },
    ];
    for (const options of bad) {
      const make = () => new Shortlink({ apiKey: API_KEY, baseUrl: BASE_URL, ...options });
      expect(make).toThrow();
      expect(make).not.toThrow(/hunter2/);
    }
  });
});

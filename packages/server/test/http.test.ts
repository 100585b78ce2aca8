import { beforeEach, describe, expect, test } from 'vitest';
import { createLogger } from '../src/logger.ts';
import { openSqliteStore } from '../src/store/sqlite/index.ts';
import type { Store } from '../src/store/store.ts';
import { StoreError } from '../src/store/store-error.ts';
import { BATCH, entries, Fixture, LINKS, PUBLIC_URL, TARGET } from './fixture.ts';

let app: Fixture;
let key: string;
beforeEach(async () => {
  app = await Fixture.open();
  key = await app.caller();
});

describe('paths and methods', () => {
  test.each([
    ['DELETE', LINKS, 'POST'],
    ['GET', LINKS, 'POST'],
    ['GET', BATCH, 'POST'],
    ['PUT', BATCH, 'POST'],
    ['POST', '/api/v1/jobs/x', 'GET, HEAD'],
    ['PATCH', '/api/v1/usage', 'GET, HEAD'],
    ['POST', '/abcdefg', 'GET, HEAD'],
    ['DELETE', '/healthz', 'GET, HEAD'],
    ['OPTIONS', '/readyz', 'GET, HEAD'],
  ])('%s %s is 405 and allows %s', async (method, path, allow) => {
    const answer = await app.send(path, { method, headers: { 'X-Api-Key': key } });
    expect(answer.status).toBe(405);
    expect(answer.headers.get('allow')).toBe(allow);
    expect(answer.json).toEqual({
      error: expect.stringContaining(allow),
      code: 'method_not_allowed',
    });
  });

  test.each([
    '/',
    '/api',
    '/api/v1',
    '/api/v2/links',
    '/api/v1/links/',
    '/api/v1/link',
    '/api/v1/links/batch/x',
    '/api/v1/jobs',
    '/api/v1/jobs/',
    '/api/v1/jobs/x/y',
    '/abcdefg/h',
    '/favicon.ico',
    '/%00',
    '/%ff%fe',
    '//example.com',
  ])('GET %s is 404', async (path) => {
    const answer = await app.send(path, { headers: { 'X-Api-Key': key } });
    expect(answer.status).toBe(404);
    expect(answer.json).toEqual({ error: expect.any(String), code: 'not_found' });
  });
});

describe('request ids', () => {
  test('every answer has one, and a safe one of the client is kept', async () => {
    const own = { headers: { 'X-Request-Id': 'trace-1_a=' } };
    for (const path of ['/', '/healthz', '/abcdefg', LINKS, '/api/v1/jobs/x']) {
      expect((await app.send(path)).headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
      expect((await app.send(path, own)).headers.get('x-request-id')).toBe('trace-1_a=');
    }
  });

  test.each(['a b', 'ü', 'a"b', '<x>', 'x'.repeat(129)])('%j is replaced', async (id) => {
    const answer = await app.send('/healthz', { headers: { 'X-Request-Id': encodeLatin1(id) } });
    expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/);
  });
});

describe('browsers', () => {
  test('a preflight is answered without a key and allows what the API needs', async () => {
    const answer = await app.send(BATCH, {
      method: 'OPTIONS',
      headers: {
        Origin: 'https://app.example',
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'x-api-key,content-type,idempotency-key',
      },
    });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(listOf(answer, 'access-control-allow-methods')).toEqual(['get', 'head', 'post']);
    expect(listOf(answer, 'access-control-allow-headers')).toEqual([
      'x-api-key',
      'content-type',
      'idempotency-key',
    ]);
    expect(answer.headers.get('access-control-max-age')).toBe('7200');
    expect(answer.headers.get('vary')).toBe('Access-Control-Request-Headers');
    expect(answer.headers.has('access-control-allow-credentials')).toBe(false);
  });

  test('every API answer, also a refusal, may be read with its headers', async () => {
    const limited = await app.caller('custom', { requests_per_minute: 0 });
    const answers = [
      await app.post(key, LINKS, { target_url: TARGET }),
      await app.post(key, LINKS, {}),
      await app.post('sl_unknown', LINKS, {}),
      await app.post(limited, LINKS, {}),
      await app.get(key, '/api/v1/nowhere'),
      await app.get(key, LINKS),
    ];
    expect(answers.map((answer) => answer.status)).toEqual([201, 400, 401, 429, 404, 405]);
    for (const answer of answers) {
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(listOf(answer, 'access-control-expose-headers')).toEqual([
        'retry-after',
        'ratelimit',
        'ratelimit-policy',
        'x-request-id',
        'location',
      ]);
    }
  });

  test('redirects and probes are not for scripts of other origins', async () => {
    for (const path of ['/abcdefg', '/healthz', '/']) {
      expect((await app.send(path)).headers.has('access-control-allow-origin')).toBe(false);
    }
  });

  test('no cache keeps a 404 that may become a link, and none keeps one of the API at all', async () => {
    for (const [path, kept] of [
      ['/', 'private, max-age=0'],
      ['/abcdefg', 'private, max-age=0'],
      ['/several/segments', 'private, max-age=0'],
      ['/api/v1/nowhere', 'no-store'],
    ]) {
      const { status, headers } = await app.send(path ?? '');
      expect([path, status, headers.get('cache-control')]).toEqual([path, 404, kept]);
    }
  });

  test('the description may be kept for minutes, and the usage page is asked for each time, by itself only', async () => {
    const description = await app.send('/openapi.json');
    expect(description.headers.get('cache-control')).toBe('public, max-age=300');
    const { headers } = await app.send('/analytics');
    expect(headers.get('cache-control')).toBe('no-cache');
    for (const name of ['cross-origin-opener-policy', 'cross-origin-resource-policy']) {
      expect([name, headers.get(name)]).toEqual([name, 'same-origin']);
    }
  });

  test('API answers are neither stored, sniffed nor framed', async () => {
    for (const answer of [await app.post(key, LINKS, {}), await app.get(key, '/api/v1/usage')]) {
      expect(answer.headers.get('cache-control')).toBe('no-store');
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    }
  });
});

describe('probes', () => {
  test('healthz and readyz are 200 while all is well', async () => {
    expect((await app.send('/healthz')).status).toBe(200);
    const { json, headers } = await app.send('/readyz');
    expect(json).toEqual({ status: 'ok', database: 'up' });
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('readyz is 503 while draining, healthz is not', async () => {
    app = await Fixture.open({ isDraining: () => true });
    const [ready, healthy] = [await app.send('/readyz'), await app.send('/healthz')];
    expect([ready.status, ready.json.code, healthy.status]).toEqual([503, 'unavailable', 200]);
    for (const { headers } of [ready, healthy]) {
      expect(headers.get('cache-control')).toBe('no-store');
    }
  });

  const readyz = async () => {
    const { status, json } = await app.send('/readyz');
    return [status, json.database];
  };

  test('readyz stays 200 without a database, since links are still redirected, and says so', async () => {
    app.store.isHealthy = () => false;
    expect(await readyz()).toEqual([200, 'down']);
  });
});

describe('failures on our side', () => {
  let store: Store;
  let log: string[];
  beforeEach(async () => {
    store = await openSqliteStore({ path: ':memory:', publicUrl: PUBLIC_URL });
    log = [];
    const logger = createLogger('info', (line) => log.push(line));
    app = await Fixture.open({ store, logger });
    key = await app.caller('pro');
  });

  test('are 500 without their cause, which the log has; the request counts nowhere', async () => {
    store.createLink = () => Promise.reject(new Error('secret detail in /var/lib'));
    const answer = await app.post(key, LINKS, { target_url: TARGET });
    expect(answer.status).toBe(500);
    expect(answer.json).toEqual({
      error: expect.stringContaining(answer.headers.get('x-request-id') ?? 'no id'),
      code: 'internal',
    });
    expect(answer.text).not.toContain('secret');
    expect(log.join()).toContain('secret detail');
    const { json: usage } = await app.get(key, '/api/v1/usage');
    for (const window of ['minute', 'day', 'month']) expect(usage.requests[window].used).toBe(0);
  });

  test.each(['busy', 'full', 'read_only', 'unavailable', 'closed'] as const)(
    'that pass are 503 with Retry-After: %s',
    async (reason) => {
      store.createLink = () => Promise.reject(new StoreError(reason, 'not now'));
      const answer = await app.post(key, LINKS, { target_url: TARGET });
      expect(answer.status).toBe(503);
      expect(answer.json.code).toBe('unavailable');
      expect(answer.headers.get('retry-after')).toBe('1');
      expect((await app.get(key, '/api/v1/usage')).json.requests.minute.used).toBe(0);
    },
  );

  test('that the text of the request causes are 400, and the request counts', async () => {
    store.createLink = () => Promise.reject(new StoreError('invalid', 'U+0000'));
    const answer = await app.post(key, LINKS, { target_url: TARGET });
    expect([answer.status, answer.json.code]).toEqual([400, 'invalid_request']);
    expect((await app.get(key, '/api/v1/usage')).json.requests.minute.used).toBe(1);
  });

  test('that pass are logged at their start and end, not for every request', async () => {
    const { createLink, refund } = store;
    const down = () => Promise.reject(new StoreError('unavailable', 'the database is away'));
    let healthy = false;
    Object.assign(store, { createLink: down, refund: down, isHealthy: () => healthy });
    const create = () => app.post(key, LINKS, { target_url: TARGET });
    for (let n = 0; n < 20; n += 1) expect((await create()).status).toBe(503);
    await app.get(key, '/api/v1/usage');
    const told = () => log.filter((line) => line.includes('the database for requests'));
    expect(log.filter((line) => line.includes('stack'))).toHaveLength(2);
    expect(told()).toHaveLength(1);
    healthy = true;
    // It responds again, and can still store nothing, such as on a full disk.
    expect((await create()).status).toBe(503);
    expect(told()).toHaveLength(1);
    Object.assign(store, { createLink, refund });
    for (let n = 0; n < 3; n += 1) expect((await create()).status).toBe(201);
    expect(told()).toHaveLength(2);
    expect(told()[1]).toContain('works again');
  });

  test('that leave the outcome of a create unknown are 500 without Retry-After, so that no client sends it again', async () => {
    const fail = () => Promise.reject(new StoreError('outcome_unknown', 'the thread died'));
    Object.assign(store, { createLink: fail, createBatch: fail, createJob: fail });
    const answers = [
      await app.post(key, LINKS, { target_url: TARGET }),
      await app.post(key, BATCH, { links: entries(2) }),
      await app.post(await app.caller(), BATCH, { links: entries(101) }),
    ];
    for (const { status, headers, json } of answers) {
      expect(status).toBe(500);
      expect(headers.has('retry-after')).toBe(false);
      expect(json.code).toBe('internal');
    }
  });

  test('a refund that fails too changes nothing in the answer', async () => {
    const { refund } = store;
    store.createLink = () => Promise.reject(new Error('first'));
    store.refund = () => Promise.reject(new Error('second'));
    expect((await app.post(key, LINKS, { target_url: TARGET })).status).toBe(500);
    expect(log.join()).toContain('refund failed');
    store.refund = refund;
    expect((await app.post(key, LINKS, { target_url: TARGET })).status).toBe(500);
    expect(log.join()).toContain('refund works again');
  });
});

describe('the log', () => {
  test('has one JSON line per API request, with ids, and neither key nor query nor body', async () => {
    const lines: string[] = [];
    app = await Fixture.open({ logger: createLogger('info', (line) => lines.push(line)) });
    key = await app.caller();
    const answer = await app.post(key, `${LINKS}?token=query`, { target_url: `${TARGET}?secret` });
    await app.post('sl_wrong', LINKS, {});
    await app.send(`/${answer.json.code}`);
    expect(lines).toHaveLength(2);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'info',
      method: 'POST',
      path: LINKS,
      status: 201,
      request_id: answer.headers.get('x-request-id'),
      account_id: expect.stringMatching(/^acc_/),
      key_id: expect.stringMatching(/^key_/),
    });
    expect(JSON.parse(lines[1] ?? '')).toMatchObject({ status: 401 });
    for (const secret of [key, 'sl_wrong', 'token', 'secret']) {
      expect(lines.join('\n')).not.toContain(secret);
    }
  });

  test('drops fields that may hold a key', () => {
    const lines: string[] = [];
    const logger = createLogger('info', (line) => lines.push(line));
    logger.info({ apiKey: 'sl_a', request: { headers: { 'X-Api-Key': 'sl_b' } } }, 'x');
    expect(lines.join()).not.toMatch(/sl_/);
  });
});

const listOf = (answer: { headers: Headers }, name: string) =>
  answer.headers.get(name)?.toLowerCase().split(/,\s*/);

/** What a client sends for these characters; `Headers` takes bytes only. */
const encodeLatin1 = (text: string) => Buffer.from(text, 'utf8').toString('latin1');

import { once } from 'node:events';
import { connect } from 'node:net';
import type { Link } from '@shortlink/sdk/wire';
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { uuidOf } from '../src/domain/ids.ts';
import { createLogger } from '../src/logger.ts';
import { Metrics } from '../src/metrics/metrics.ts';
import { listen } from '../src/serve.ts';
import { createService, type Service, type ServiceOptions } from '../src/service.ts';
import { NOW, newCaller, newLink } from '../src/store/contract/fixtures.test-suite.ts';
import { openSqliteStore } from '../src/store/sqlite/index.ts';
import type { Caller, NewLink, Store } from '../src/store/store.ts';
import { addDomain } from './fixture.ts';

const PUBLIC_URL = 'https://sho.rt';

let store: Store;
let caller: Caller;
let service: Service;
let metrics: Metrics;
/** The program as it is, and the app alone. */
let fast: Awaited<ReturnType<typeof listen>>;
let app: Awaited<ReturnType<typeof listen>>;
/** Requests to {@link fast} that were not left to the app. */
let answeredFast: number;

async function start(options: Partial<ServiceOptions> = {}): Promise<void> {
  metrics = new Metrics();
  service = createService({ store, publicUrl: PUBLIC_URL, metrics, ...options });
  await service.start();
  answeredFast = 0;
  fast = await listen('127.0.0.1', 0);
  fast.respondWith(service.fetch, (request, response) => {
    const isAnswered = service.redirectNow(request, response);
    if (isAnswered) answeredFast += 1;
    return isAnswered;
  });
  app = await listen('127.0.0.1', 0);
  app.respondWith(service.fetch);
}

async function stop(): Promise<void> {
  await Promise.all([fast.close({ drainTimeoutMs: 0 }), app.close({ drainTimeoutMs: 0 })]);
  await service.stop();
}

// The program replaces them, and other tests run in this process.
const { Request, Response } = globalThis;
afterAll(() => {
  Object.assign(globalThis, { Request, Response });
});

beforeEach(async () => {
  store = await openSqliteStore({ path: ':memory:', publicUrl: PUBLIC_URL });
  caller = await newCaller(store);
  await start();
});
afterEach(async () => {
  await stop();
  await store.close();
});

async function shorten(fields: Partial<NewLink> = {}): Promise<Link> {
  const outcome = await store.createLink({ caller, input: newLink(0, fields), now: NOW });
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.value;
}

interface Reply {
  status: string;
  /** In the order of the wire, without those that differ from request to request. */
  headers: string[];
  requestId: string | undefined;
  body: string;
}

/** Sends these bytes on a connection of their own and reads until the server closes it. */
async function send({ url }: Awaited<ReturnType<typeof listen>>, request: string): Promise<Reply> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  let text = '';
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    text += chunk;
  });
  socket.write(request);
  await new Promise((resolve) => socket.once('close', resolve));
  const [head = '', ...body] = text.split('\r\n\r\n');
  const [status = '', ...headers] = head.split('\r\n');
  return {
    status,
    headers: headers.filter((line) => !/^(?:date|x-request-id):/i.test(line)).toSorted(),
    requestId: headers.find((line) => /^x-request-id:/i.test(line))?.slice(14),
    body: body.join('\r\n\r\n'),
  };
}

function requestOf(target: string, { method = 'GET', version = '1.1', lines = [''] } = {}): string {
  const head = lines.filter((line) => line !== '');
  if (!head.some((line) => /^host:/i.test(line))) head.unshift('Host: sho.rt');
  return `${method} ${target} HTTP/${version}\r\n${head.join('\r\n')}\r\nConnection: close\r\n\r\n`;
}

/** The response of both, and whether the app was not asked for the one. */
async function compare(request: string): Promise<{ reply: Reply; isFast: boolean }> {
  const other = await send(app, request);
  const before = answeredFast;
  const reply = await send(fast, request);
  expect({ ...reply, requestId: '' }).toEqual({ ...other, requestId: '' });
  return { reply, isFast: answeredFast > before };
}

/** Brings a link into memory. */
async function follow(code: string): Promise<void> {
  await send(app, requestOf(`/${code}`));
}

describe('both answer alike, header by header', () => {
  test.each([301, 302, 307] as const)('a GET with redirect type %i', async (redirect_type) => {
    const { code, target_url } = await shorten({ redirect_type });
    const { reply, isFast } = await compare(requestOf(`/${code}`));
    expect(isFast).toBe(true);
    expect(reply.status).toContain(`${redirect_type} `);
    expect(reply.headers).toEqual([
      'Cache-Control: private, max-age=0',
      'Connection: close',
      'Content-Length: 0',
      `Location: ${target_url}`,
    ]);
    expect(reply.requestId).toMatch(/^[\da-f-]{36}$/);
    expect(reply.body).toBe('');
  });

  test.each([
    'https://example.com/a b?c d#e f',
    'https://bücher.example/ü?ä',
    'https://example.com/%41%zz?q=%20#%',
    'https://example.com/"<>\\^`{|}',
    'https://example.com/\u2028\u{1f600}',
    'HTTPS://USER@EXAMPLE.com',
  ])('the Location of %j', async (target_url) => {
    const { code } = await shorten({ target_url });
    expect((await compare(requestOf(`/${code}`))).isFast).toBe(true);
  });

  test.each([
    ['a query', '?a=b&c=%41', true],
    ['an empty query', '?', true],
    ['a query with dots, slashes and a backslash', '?x=/../../\\', true],
    ['a slash at the end', '/', false],
    ['a dot segment', '/.', false],
    ['a fragment', '#x', false],
    ['a parameter', ';x', false],
  ])('a path with %s', async (_, suffix, isFast) => {
    const { code } = await shorten();
    await follow(code);
    expect((await compare(requestOf(`/${code}${suffix}`))).isFast).toBe(isFast);
  });

  test('unusual spellings of the target', async () => {
    const { code } = await shorten();
    await follow(code);
    const encoded = `%${code.charCodeAt(0).toString(16)}${code.slice(1)}`;
    const targets = [
      `/${encoded}`,
      `//${code}`,
      `/./${code}`,
      `http://sho.rt/${code}`,
      `/%00${code}`,
    ];
    for (const target of [...targets, code, '*', `/${code.toLowerCase()}x`, `/${code}%2f`]) {
      expect((await compare(requestOf(target))).isFast, target).toBe(false);
    }
  });

  test.each(['HEAD', 'POST', 'OPTIONS', 'PUT', 'DELETE', 'PURGE'])('%s', async (method) => {
    const { code } = await shorten();
    await follow(code);
    expect((await compare(requestOf(`/${code}`, { method }))).isFast).toBe(false);
  });

  test.each([
    ['Host: sho.rt', true],
    ['Host: sho.rt:443', true],
    ['Host: sho.rt:8080', true],
    ['Host: other.example.', true],
    ['Host: 10.1.2.3:65000', true],
    ['Host: SHO.rt', false],
    ['Host: [::1]:8080', false],
    ['Host: bücher.example', false],
    ['Host: 999.1.1.1', false],
    ['Host: sho.rt:99999', false],
    ['Host: a b', false],
    ['Host: sho.rt/x', false],
    ['Host:', false],
  ])('%s', async (line, isFast) => {
    const { code } = await shorten();
    await follow(code);
    expect((await compare(requestOf(`/${code}`, { lines: [line] }))).isFast).toBe(isFast);
  });

  test('two Host lines, which the app alone judges', async () => {
    const { code } = await shorten();
    await follow(code);
    const lines = ['Host: sho.rt', 'Host: go.example'];
    expect((await compare(requestOf(`/${code}`, { lines }))).isFast).toBe(false);
  });

  test('HTTP/1.0, with and without keep-alive', async () => {
    const { code } = await shorten();
    await follow(code);
    expect((await compare(requestOf(`/${code}`, { version: '1.0' }))).isFast).toBe(true);
    const noHost = `GET /${code} HTTP/1.0\r\n\r\n`;
    expect((await compare(noHost)).isFast).toBe(false);
  });

  test.each([
    ['a request id', 'X-Request-Id: abc-1', 'abc-1'],
    ['a request id that is not sound', 'X-Request-Id: a b', undefined],
    ['two request ids', 'X-Request-Id: a\r\nX-Request-Id: b', undefined],
  ])('%s', async (_, line, id) => {
    const { code } = await shorten();
    await follow(code);
    const { reply, isFast } = await compare(requestOf(`/${code}`, { lines: [line] }));
    expect(isFast).toBe(true);
    if (id === undefined) expect(reply.requestId).toMatch(/^[\da-f-]{36}$/);
    else expect(reply.requestId).toBe(id);
  });

  test.each([
    ['a body', 'Content-Length: 2', '{}'],
    ['a chunked body', 'Transfer-Encoding: chunked', '0\r\n\r\n'],
  ])('a GET with %s', async (_, line, body) => {
    const { code } = await shorten();
    await follow(code);
    const request = requestOf(`/${code}`, { lines: [line] });
    expect((await compare(request + body)).isFast).toBe(false);
  });

  test('what a browser sends', async () => {
    const { code } = await shorten();
    await follow(code);
    const lines = [
      'Accept: text/html,*/*;q=0.8',
      'Accept-Encoding: gzip, br',
      'Cookie: a=b; c=d',
      'If-Modified-Since: Thu, 01 Jan 2026 00:00:00 GMT',
      'If-None-Match: *',
      'Range: bytes=0-1',
      'Upgrade: h2c',
      'X-Forwarded-Host: evil.example',
    ];
    expect((await compare(requestOf(`/${code}`, { lines }))).isFast).toBe(true);
  });

  test.each(['?a=b&c=%41', '?x=own&y=1', '?', '?a="<>\\', `?${'x'.repeat(8_000)}`])(
    'a query that is forwarded: %s',
    async (query) => {
      await stop();
      await start({ forwardQuery: true });
      // What a URL parser would spell otherwise, the app reads.
      const isPlain = !query.includes('"');
      const { code } = await shorten({ target_url: 'https://example.com/ü?x=1#part' });
      await follow(code);
      expect((await compare(requestOf(`/${code}${query}`))).isFast).toBe(isPlain);
    },
  );

  test('links that are disabled, enabled again, or unknown', async () => {
    const { code } = await shorten();
    await follow(code);
    await store.setLinkActive(code, false);
    const gone = () => compare(requestOf(`/${code}`));
    await expect.poll(async () => (await gone()).reply.status).toContain('410');
    expect((await gone()).isFast).toBe(false);
    await store.setLinkActive(code, true);
    await expect.poll(async () => (await gone()).isFast).toBe(true);
    expect((await compare(requestOf('/zzzzzzz'))).isFast).toBe(false);
  });

  test('custom domains', async () => {
    const domain = { hostname: 'go.example', accountId: caller.accountId, now: NOW };
    const { id } = await addDomain(store, domain);
    const custom = await shorten({ domain_id: id });
    const ordinary = await shorten();
    const from = (code: string, host: string) =>
      compare(requestOf(`/${code}`, { lines: [`Host: ${host}`] }));
    // Until the list of domains was read again.
    await expect
      .poll(async () => (await from(ordinary.code, 'go.example')).reply.status)
      .toContain('404');
    await from(custom.code, 'go.example');
    for (const host of ['go.example', 'go.example:443', 'go.example.']) {
      expect((await from(custom.code, host)).isFast, host).toBe(true);
    }
    for (const host of ['sho.rt', 'go.example:8080', 'www.go.example']) {
      const { reply, isFast } = await from(custom.code, host);
      expect([reply.status, isFast], host).toEqual(['HTTP/1.1 404 Not Found', false]);
    }
    expect((await from(ordinary.code, 'sho.rt')).isFast).toBe(true);
    // On the host of a domain that was removed, its aliases come first, and these the app looks up.
    const alias = { domain_id: id, path: `/${ordinary.code}` };
    const moved = { ...newLink(1), id: uuidOf(NOW), is_active: true, click_count: 0 };
    const links = [{ ...moved, created_at: NOW, aliases: [alias] }];
    await store.importLinks({ accountId: caller.accountId, links });
    await store.removeDomain({ hostname: 'go.example', force: true, now: NOW });
    const removed = async () => {
      await follow(ordinary.code);
      return from(ordinary.code, 'go.example');
    };
    await expect.poll(async () => (await removed()).reply.status).toContain('410');
    expect((await removed()).isFast).toBe(false);
  });

  test('while the server drains', async () => {
    const { code } = await shorten();
    await follow(code);
    service.drain();
    expect((await compare(requestOf(`/${code}`))).isFast).toBe(false);
  });
});

test('a connection is kept, and pipelined requests are answered in order', async () => {
  const { code, target_url } = await shorten();
  await follow(code);
  const keep = `GET /${code} HTTP/1.1\r\nHost: sho.rt\r\n\r\n`;
  const unknown = 'GET /zzzzzzz HTTP/1.1\r\nHost: sho.rt\r\n\r\n';
  const { status, headers, body } = await send(
    fast,
    `${keep}${unknown}${keep}${requestOf(`/${code}`)}`,
  );
  expect(status).toBe('HTTP/1.1 302 Found');
  expect(headers).toEqual([
    'Cache-Control: private, max-age=0',
    'Connection: keep-alive',
    'Content-Length: 0',
    'Keep-Alive: timeout=75',
    `Location: ${target_url}`,
  ]);
  expect(body.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 302', 'HTTP/1.1 302']);
});

test('responses to requests that are read together are sent together, once that happens more than once', async () => {
  const { code } = await shorten();
  await follow(code);
  const steps: string[] = [];
  fast.respondWith(service.fetch, (request, response) => {
    const { end } = response;
    response.end = (...args: unknown[]) => {
      steps.push('sent');
      return Reflect.apply(end, response, args);
    };
    steps.push('read');
    return service.redirectNow(request, response);
  });
  const head = `GET /${code} HTTP/1.1\r\nHost: sho.rt\r\n`;
  // One packet, two times.
  const three = `${head}\r\n`.repeat(3);
  const socket = connect(Number(new URL(fast.url).port), '127.0.0.1');
  for (const sent of [3, 6]) {
    socket.write(three);
    await expect.poll(() => steps.filter((step) => step === 'sent')).toHaveLength(sent);
  }
  socket.destroy();
  expect(steps).toEqual([
    ...['read', 'sent', 'read', 'sent', 'read', 'sent'],
    ...['read', 'read', 'read', 'sent', 'sent', 'sent'],
  ]);
});

test('clients that are gone before their response do no harm', async () => {
  const { code } = await shorten();
  await follow(code);
  for (let n = 0; n < 50; n += 1) {
    const socket = connect(Number(new URL(fast.url).port), '127.0.0.1');
    await once(socket, 'connect');
    socket.write(`GET /${code} HTTP/1.1\r\nHost: sho.rt\r\n\r\n`.repeat(4));
    if (n % 2 === 0) await new Promise((resolve) => setImmediate(resolve));
    socket.resetAndDestroy();
  }
  expect((await send(fast, requestOf(`/${code}`))).status).toContain('302');
});

test('both count the request, the redirect and the click', async () => {
  const { code } = await shorten({ redirect_type: 307 });
  for (const listener of [app, fast, fast, app, fast]) await send(listener, requestOf(`/${code}`));
  expect(answeredFast).toBe(3);
  const text = await metrics.text();
  for (const line of [
    'shortlink_http_requests_total{route="/:code",method="GET",status="307"} 5',
    'shortlink_http_request_duration_seconds_count{route="/:code"} 5',
    'shortlink_redirects_total{type="307"} 5',
  ]) {
    expect(text).toContain(line);
  }
  await expect.poll(async () => (await store.findLink(code))?.click_count).toBe(5);
});

test.each([false, true])(
  'previews are clicks for neither or for both: %s',
  async (countPreviews) => {
    await stop();
    await start({ countPreviews });
    const { code } = await shorten();
    await follow(code);
    const lines = ['Sec-Purpose: prefetch'];
    expect((await compare(requestOf(`/${code}`, { lines }))).isFast).toBe(true);
    await compare(requestOf(`/${code}`, { lines: ['User-Agent: Slackbot 1.0'] }));
    await service.stop();
    expect((await store.findLink(code))?.click_count).toBe(countPreviews ? 5 : 1);
    const previews = countPreviews ? 0 : 4;
    expect(await metrics.text()).toContain(`shortlink_previews_total ${previews}\n`);
  },
);

test('where redirects are logged, each has its line', async () => {
  await stop();
  const lines: string[] = [];
  await start({ logger: createLogger('debug', (line) => lines.push(line)) });
  const { code } = await shorten();
  for (const listener of [app, fast, fast]) await send(listener, requestOf(`/${code}`));
  const logged = lines.map((line) => JSON.parse(line)).filter((entry) => entry.msg === 'request');
  expect(logged).toHaveLength(3);
  expect(logged[2]).toMatchObject({ method: 'GET', path: `/${code}`, status: 302 });
});

test('while the database is away or hangs, links in memory redirect without waiting, others fail', async () => {
  const { code } = await shorten();
  const other = await shorten();
  await follow(code);
  const failures = [
    () => Promise.reject(new Error('away')),
    () => new Promise<never>(() => undefined),
  ];
  for (const fail of failures) {
    Object.assign(store, { findRedirect: fail, linkChanges: fail, listDomains: fail });
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect((await compare(requestOf(`/${code}`))).isFast).toBe(true);
  }
  Object.assign(store, { findRedirect: failures[0] });
  expect((await send(fast, requestOf(`/${other.code}`))).status).toContain('500');
});

test('a stored target that the URL parser refuses is redirected to, from memory too', async () => {
  const { code } = await shorten();
  const link = { target_url: 'http://ex ample/ü', redirect_type: 302, is_active: true } as const;
  Object.assign(store, { findRedirect: async () => ({ ...link, hostname: null }) });
  for (const isFast of [false, true]) {
    const before = answeredFast;
    const { status, headers } = await send(fast, requestOf(`/${code}`));
    expect(status).toContain('302');
    expect(headers).toContain('Location: http://ex%20ample/%C3%BC');
    expect(answeredFast > before).toBe(isFast);
  }
});

test('a failure to redirect from memory is logged and gets a 500, and the process goes on', async () => {
  await stop();
  const lines: string[] = [];
  await start({ logger: createLogger('info', (line) => lines.push(line)) });
  const { code } = await shorten();
  const { findRedirect } = store;
  const damaged = {
    ...(await findRedirect(code)),
    get hostname(): string {
      throw new Error('damaged');
    },
  };
  Object.assign(store, { findRedirect: async () => damaged });
  for (let n = 0; n < 3; n += 1) {
    expect((await send(fast, requestOf(`/${code}`))).status).toContain('500');
  }
  const messages = lines.map((line) => JSON.parse(line)).map(({ msg, err }) => [msg, err?.message]);
  expect(messages).toContainEqual(['redirect from memory failed', 'damaged']);
  Object.assign(store, { findRedirect });
  const other = await shorten();
  expect((await send(fast, requestOf(`/${other.code}`))).status).toContain('302');
});

test('custom domains that can not be read at the start fail requests, not the process', async () => {
  const { code } = await shorten();
  await stop();
  const listDomains = vi.spyOn(store, 'listDomains').mockRejectedValue(new Error('away'));
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', onUnhandled);
  await start();
  for (let n = 0; n < 3; n += 1) {
    expect((await send(fast, requestOf(`/${code}`))).status).toContain('500');
  }
  await new Promise((resolve) => setTimeout(resolve, 50));
  process.off('unhandledRejection', onUnhandled);
  expect(unhandled).toEqual([]);
  listDomains.mockRestore();
  expect((await send(fast, requestOf(`/${code}`))).status).toContain('302');
});

import { once } from 'node:events';
import { createServer, request as httpRequest, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import nodeFetch from 'node-fetch';
import { Agent, MockAgent, ProxyAgent, fetch as undiciFetch } from 'undici';
import { afterEach, describe, expect, it } from 'vitest';
import { isOutcomeUnknown, ShortlinkError } from '../src/index.ts';
import type { Fetch, FetchInit, FetchResponse } from '../src/options.ts';
import { JOB, json, LINK } from './answers.ts';
import { API_KEY, BASE_URL, makeClient } from './make-client.ts';

const BODY = { target_url: LINK.target_url };
const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

async function listen(server: Server): Promise<string> {
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return `http://127.0.0.1:${port}`;
}

/** A service that creates the same link each time, and keeps the requests. */
async function service() {
  const requests: IncomingMessage[] = [];
  const server = createServer((req, res) => {
    req.resume().on('end', () => {
      requests.push(req);
      res.writeHead(201, { 'Content-Type': 'application/json' }).end(JSON.stringify(LINK));
    });
  });
  return { baseUrl: await listen(server), requests };
}

describe('a custom fetch', () => {
  it('is called with a URL string and an init object', async () => {
    const calls: [url: unknown, init: FetchInit][] = [];
    const fetch: Fetch = async (url, init) => {
      calls.push([url, init]);
      return json(LINK, 201);
    };
    await makeClient({ fetch }).links.create(BODY);
    const [url, init] = calls[0] ?? [];
    expect(url).toBe(`${BASE_URL}/api/v1/links`);
    expect(init).toEqual({
      method: 'POST',
      headers: {
        accept: 'application/json',
        'content-type': 'application/json',
        'user-agent': `shortlink-sdk/0.1.0 node/${process.versions.node}`,
        'x-api-key': API_KEY,
      },
      body: JSON.stringify(BODY),
      signal: expect.any(AbortSignal),
      redirect: 'manual',
    });
  });

  it('may change the headers that it is given: the next attempt has them all again', async () => {
    const seen: string[][] = [];
    const fetch: Fetch = async (_, { headers }) => {
      seen.push(Object.keys(headers));
      for (const name of Object.keys(headers)) delete headers[name];
      return seen.length === 1 ? json({}, 429, { 'Retry-After': '0' }) : json(LINK, 201);
    };
    await makeClient({ fetch }).links.create(BODY);
    expect(seen[1]).toEqual(seen[0]);
  });

  it("may be that of npm's undici", async () => {
    const { baseUrl } = await service();
    const { links } = makeClient({ baseUrl, fetch: undiciFetch });
    await expect(links.create(BODY)).resolves.toEqual(LINK);
  });

  it('may be node-fetch, in its types too', async () => {
    const { baseUrl } = await service();
    const { links } = makeClient({ baseUrl, fetch: nodeFetch });
    const { data, requestId } = await links.create(BODY).withResponse();
    expect(data).toEqual(LINK);
    expect(requestId).toBeUndefined();
  });

  it("may be one of npm's undici that is mocked", async () => {
    const dispatcher = new MockAgent();
    dispatcher.disableNetConnect();
    dispatcher
      .get(BASE_URL)
      .intercept({ path: '/api/v1/links', method: 'POST', body: JSON.stringify(BODY) })
      .reply(201, LINK);
    const { links } = makeClient({ fetch: undiciFetch, fetchOptions: { dispatcher } });
    await expect(links.create(BODY)).resolves.toEqual(LINK);
  });

  it.each<[string, unknown, string]>([
    ['whose text is none', { status: 201, headers: [], text: async () => LINK }, 'is not JSON'],
    ['without text', { status: 201, headers: [], text: async () => undefined }, 'is not JSON'],
    ['of nothing', undefined, 'headers is not iterable'],
    ['that is a string', 'created', 'headers is not iterable'],
  ])('that gives a response %s leaves the outcome unknown', async (_, response, message) => {
    const { links } = makeClient({ fetch: async () => response as FetchResponse });
    const error: unknown = await links.create(BODY).catch((thrown: unknown) => thrown);
    expect(ShortlinkError.isInstance(error) && error.message).toContain(message);
    expect(isOutcomeUnknown(error)).toBe(true);
  });

  it('must be a function', () => {
    expect(() => makeClient(JSON.parse('{"fetch":"undici"}'))).toThrow('fetch must be a function');
  });
});

describe('fetchOptions', () => {
  it('are in the init, and replace none of what the client sets', async () => {
    const inits: FetchInit[] = [];
    const fetch: Fetch = async (_, init) => {
      inits.push(init);
      return json(LINK, 201);
    };
    const fetchOptions = JSON.parse(
      '{"cf":{"cacheTtl":0},"method":"PUT","redirect":"follow","headers":{}}',
    );
    await makeClient({ fetch, fetchOptions }).links.create(BODY);
    expect(inits[0]).toMatchObject({
      cf: { cacheTtl: 0 },
      method: 'POST',
      redirect: 'manual',
      headers: { 'x-api-key': API_KEY },
    });
  });

  it('give no body to a request that has none, and no other body to one that has', async () => {
    const inits: FetchInit[] = [];
    const fetch: Fetch = async (url, init) => {
      inits.push(init);
      return json(url.includes('/jobs/') ? JOB : LINK);
    };
    const fetchOptions = JSON.parse('{"body":"x=1","method":"DELETE","headers":{"x":"y"}}');
    const { links, jobs } = makeClient({ fetch, fetchOptions });
    await jobs.retrieve('j');
    await links.create(BODY);
    expect(inits[0]).toMatchObject({ method: 'GET' });
    expect(inits[0]).not.toHaveProperty('body');
    expect(inits[0]?.headers).not.toHaveProperty('x');
    expect(inits[1]).toMatchObject({ method: 'POST', body: JSON.stringify(BODY) });
  });

  it("send requests through a proxy, with npm's undici", async () => {
    const { baseUrl, requests } = await service();
    const seen: (string | undefined)[] = [];
    const proxy = createServer((req, res) => {
      seen.push(req.url);
      const { method, headers } = req;
      const onward = httpRequest(req.url ?? '', { method, headers }, (answered) => {
        res.writeHead(answered.statusCode ?? 500, answered.headers);
        answered.pipe(res);
      });
      req.pipe(onward);
    });
    const dispatcher = new ProxyAgent({ uri: await listen(proxy), proxyTunnel: false });
    const { links } = makeClient({ baseUrl, fetch: undiciFetch, fetchOptions: { dispatcher } });
    await expect(links.create(BODY)).resolves.toEqual(LINK);
    expect(seen).toEqual([`${baseUrl}/api/v1/links`]);
    expect(requests[0]?.headers['x-api-key']).toBe(API_KEY);
    await dispatcher.close();
  });

  it("give the runtime's own fetch a dispatcher", async () => {
    const { baseUrl } = await service();
    let connects = 0;
    const dispatcher = new Agent().compose((dispatch) => (options, handler) => {
      connects += 1;
      return dispatch(options, handler);
    });
    const { links } = makeClient({ baseUrl, fetchOptions: { dispatcher } });
    await expect(links.create(BODY)).resolves.toEqual(LINK);
    expect(connects).toBe(1);
    await dispatcher.close();
  });
});

describe('a response that is too large', () => {
  const MB = 1024 * 1024;

  /** Sends 64 KiB again and again, as long as someone takes them. */
  async function endless(status: number) {
    let sentBytes = 0;
    const server = createServer((req, res) => {
      res.writeHead(status, { 'Content-Type': 'application/json' });
      const chunk = Buffer.alloc(64 * 1024, 'x');
      const write = () => {
        while (!res.closed && res.write(chunk)) sentBytes += chunk.length;
        sentBytes += chunk.length;
      };
      res.on('drain', write);
      req.resume().on('end', write);
    });
    return { baseUrl: await listen(server), sentBytes: () => sentBytes };
  }

  it('ends the call at its bound, and its connection, when it never ends', async () => {
    const { baseUrl, sentBytes } = await endless(201);
    const { links } = makeClient({ baseUrl, maxResponseBytes: 4 * MB });
    await expect(links.create(BODY)).rejects.toMatchObject({
      name: 'ResponseShapeError',
      message: "The service's 201 response is larger than maxResponseBytes",
    });
    // What the kernel and the runtime have in their buffers comes on top.
    expect(sentBytes()).toBeLessThan(64 * MB);
  });

  it('is counted unpacked: a little gzip may be a lot', async () => {
    const packed = gzipSync(Buffer.alloc(64 * MB));
    expect(packed.length).toBeLessThan(MB);
    const server = createServer((_, res) => {
      const headers = { 'Content-Encoding': 'gzip', 'Content-Type': 'application/json' };
      res.writeHead(200, headers).end(packed);
    });
    const { jobs } = makeClient({ baseUrl: await listen(server), maxResponseBytes: 8 * MB });
    await expect(jobs.retrieve('x')).rejects.toThrow('larger than maxResponseBytes');
  });

  it('is an error all the same when its status says so, of which 1 MiB is read', async () => {
    const { baseUrl, sentBytes } = await endless(400);
    const { links } = makeClient({ baseUrl });
    await expect(links.create(BODY)).rejects.toMatchObject({ name: 'BadRequestError' });
    expect(sentBytes()).toBeLessThan(64 * MB);
  });

  it('may be up to 128 MiB where the option says nothing', async () => {
    const chunk = new Uint8Array(32 * MB).fill(32);
    const stream = (chunks: number) =>
      new ReadableStream({
        pull(controller) {
          if (chunks === 0) {
            controller.enqueue(new TextEncoder().encode(JSON.stringify(JOB)));
            controller.close();
          } else controller.enqueue(chunk);
          chunks -= 1;
        },
      });
    const read = (chunks: number) =>
      makeClient({ fetch: async () => new Response(stream(chunks)) }).jobs.retrieve('x');
    await expect(read(3)).resolves.toEqual(JOB);
    await expect(read(4)).rejects.toThrow('larger than maxResponseBytes');
  });

  it('is left alone once the call is aborted, though the body does not listen', async () => {
    let pulls = 0;
    const body = () =>
      new ReadableStream({
        async pull(controller) {
          pulls += 1;
          await new Promise((resolve) => setTimeout(resolve, 1));
          controller.enqueue(new Uint8Array(10));
        },
      });
    const { links } = makeClient({ fetch: async () => new Response(body()), timeoutMs: 20 });
    await expect(links.create(BODY)).rejects.toHaveProperty('name', 'TimeoutError');
    await new Promise((resolve) => setTimeout(resolve, 20));
    const pulled = pulls;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(pulls).toBeLessThanOrEqual(pulled + 1);
  });
});

it('text is read whole where a character lies over the border of two pieces', async () => {
  const bytes = new TextEncoder().encode(JSON.stringify({ ...LINK, title: 'Größe 😀' }));
  const body = new ReadableStream({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const { links } = makeClient({ fetch: async () => new Response(body, { status: 201 }) });
  await expect(links.create(BODY)).resolves.toMatchObject({ title: 'Größe 😀' });
});

import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { runInNewContext } from 'node:vm';
import { Agent, ProxyAgent, fetch as undici8Fetch } from 'undici8';
import { afterEach, describe, expect, it } from 'vitest';
import type { Fetch, ShortlinkOptions } from '../src/options.ts';
import { InstantClock } from './fake-clock.ts';
import { makeClient } from './make-client.ts';

const servers: Server[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }
});

/** A server that counts what reaches it, and refuses to open a tunnel. */
async function serve() {
  const seen: string[] = [];
  const server = createServer((req, res) => {
    seen.push(`${req.method} ${req.url}`);
    res.writeHead(407).end();
  });
  server.on('connect', (_, socket) => {
    socket.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n');
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen };
}

/** Makes a POST and a GET, and says how both ended and how often `fetch` was called. */
async function play(options: ShortlinkOptions) {
  let calls = 0;
  const inner = options.fetch ?? (globalThis.fetch as Fetch);
  const fetch: Fetch = (url, init) => {
    calls += 1;
    return inner(url, init);
  };
  const clock = new InstantClock();
  const { links, jobs } = makeClient({ ...options, fetch, idempotency: true }, { clock });
  const fail = (error: unknown) => error;
  const ends = await Promise.all([
    links.create({ target_url: 'https://example.com/' }).catch(fail),
    jobs.retrieve('j').catch(fail),
  ]);
  return { ends, calls };
}

const NEVER_SENT = { name: 'ConnectionError', outcome: 'not-sent', isPermanent: true };

describe('a request that the runtime refused before it sent anything is not repeated, and not in doubt', () => {
  it('with a dispatcher of another undici', async () => {
    const { url, seen } = await serve();
    const dispatcher = new Agent();
    const { ends, calls } = await play({ baseUrl: url, fetchOptions: { dispatcher } });
    for (const end of ends) expect(end).toMatchObject(NEVER_SENT);
    expect(calls).toBe(2);
    expect(seen).toEqual([]);
    await dispatcher.close();
  });

  it('with a dispatcher that is none', async () => {
    const { ends, calls } = await play({ fetchOptions: { dispatcher: {} } });
    for (const end of ends) expect(end).toMatchObject(NEVER_SENT);
    expect(calls).toBe(2);
  });

  it.each(['http://service.invalid', 'https://service.invalid'])(
    "with a proxy's 407 for %s, seen through undici 8",
    async (baseUrl) => {
      const { url } = await serve();
      const dispatcher = new ProxyAgent(url);
      const fetch = undici8Fetch as unknown as Fetch;
      const { ends, calls } = await play({ baseUrl, fetch, fetchOptions: { dispatcher } });
      for (const end of ends) expect(end).toMatchObject(NEVER_SENT);
      expect(calls).toBe(2);
      await dispatcher.close();
    },
  );

  it('with a fetch that throws at once', async () => {
    const fetch = () => {
      throw new Error('not here');
    };
    const { ends, calls } = await play({ fetch });
    for (const end of ends) {
      expect(end).toMatchObject({ ...NEVER_SENT, message: expect.stringContaining('not here') });
    }
    expect(calls).toBe(2);
  });

  it.each([{ mode: 'navigate' }, { cache: 'nope' }, { referrer: 'http://[' }, { window: 'x' }])(
    'with fetchOptions that Request does not take: %j',
    async (fetchOptions) => {
      const { url, seen } = await serve();
      const { ends, calls } = await play({ baseUrl: url, fetchOptions });
      for (const end of ends) expect(end).toMatchObject(NEVER_SENT);
      expect(calls).toBe(2);
      expect(seen).toEqual([]);
    },
  );

  it('with fetchOptions that Request does not take, where errors are of another realm, as in Jest', async () => {
    const errorOf = runInNewContext('(message) => new TypeError(message)');
    const fetch: Fetch = (url, init) =>
      globalThis.fetch(url, init).catch(({ message }) => Promise.reject(errorOf(message)));
    const { ends, calls } = await play({ fetch, fetchOptions: { mode: 'navigate' } });
    for (const end of ends) expect(end).toMatchObject(NEVER_SENT);
    expect(calls).toBe(2);
  });
});

it('a TypeError of the network is still in doubt, whatever Request says of the options', async () => {
  let calls = 0;
  const fetch = async () => {
    calls += 1;
    throw new TypeError('Failed to fetch');
  };
  const { ends } = await play({ fetch, fetchOptions: { mode: 'navigate' } });
  for (const end of ends) expect(end).toMatchObject({ outcome: 'unknown', isPermanent: false });
  expect(calls).toBe(12);
});

describe('headers of the connection', () => {
  const REFUSED: [string, string][] = [
    ['transfer-encoding', 'chunked'],
    ['Keep-Alive', 'timeout=5'],
    ['expect', '100-continue'],
    ['content-length', '3'],
    ['upgrade', 'h2c'],
    ['Connection', 'Upgrade'],
  ];

  it.each(REFUSED)('%s is refused by name when the client is made', (name, value) => {
    const make = () => makeClient({ headers: { [name]: value } });
    expect(make).toThrow(expect.objectContaining({ name: 'InvalidOptionError' }));
    expect(make).toThrow(name);
  });

  it.each(REFUSED)('%s is refused by name for a call, and nothing is sent', async (name, value) => {
    let calls = 0;
    const fetch = async () => {
      calls += 1;
      return Response.json({});
    };
    const call = makeClient({ fetch }).jobs.retrieve('j', { headers: { [name]: value } });
    await expect(call).rejects.toMatchObject({ name: 'InvalidOptionError', option: 'headers' });
    await expect(call).rejects.toThrow(name);
    expect(calls).toBe(0);
  });

  it.each(['close', 'keep-alive'])('connection: %s is a choice that runtimes take', (value) => {
    expect(makeClient({ headers: { connection: value } })).toBeDefined();
  });
});

// One key for all creates of a client: the second create would get the response to the first.
describe('headers that have an option', () => {
  const REFUSED = [
    ['Idempotency-Key', 'use the option idempotency or idempotencyKey'],
    ['IDEMPOTENCY-KEY', 'use the option idempotency'],
    ['X-Api-Key', 'use the option apiKey'],
    ['x-api-key', 'use the option apiKey'],
  ] as const;

  it.each(REFUSED)('%s is refused when the client is made', (name, words) => {
    const make = () => makeClient({ headers: { [name]: 'my-secret' } });
    expect(make).toThrow(expect.objectContaining({ name: 'InvalidOptionError' }));
    expect(make).toThrow(words);
    expect(make).not.toThrow('my-secret');
    expect(() => makeClient({ headers: new Headers([[name, 'a']]) })).toThrow(words);
  });

  it.each(REFUSED)('%s is refused for a call, and nothing is sent', async (name, words) => {
    const fetch = async () => expect.fail('a request was sent');
    const { links, jobs } = makeClient({ fetch });
    const headers = { [name]: 'a' };
    await expect(links.create({ target_url: 'x' }, { headers })).rejects.toThrow(words);
    await expect(jobs.wait('j', { headers })).rejects.toThrow(words);
    expect(() => links.createMany([], { headers })).toThrow(words);
  });

  it.each(['X-Api-Key-Id', 'Gateway-X-Api-Key'])('%s is another header', (name) => {
    expect(makeClient({ headers: { [name]: 'a' } })).toBeDefined();
  });
});

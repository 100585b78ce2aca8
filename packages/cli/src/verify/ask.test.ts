import { getEventListeners, once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test, vi } from 'vitest';
import { createAgent, fetchVia, isPrivateHost } from '../agents.ts';
import { Asker } from './ask.ts';

/** An asker whose requests get their responses from a function. */
function askerOf(
  respond: (url: URL) => Response,
  signal = new AbortController().signal,
  maxRetries = 2,
) {
  const asked: string[] = [];
  const cookies: (string | null)[] = [];
  const fetch = async (input: string | URL | Request, init?: RequestInit) => {
    asked.push(String(input));
    cookies.push(new Headers(init?.headers).get('cookie'));
    return respond(new URL(String(input)));
  };
  const settings = { timeoutMs: 1000, maxRetries, requestsPerMinute: undefined };
  const fetches = { fetchShort: fetch, fetchTarget: fetch };
  const asker = new Asker({ ...settings, ...fetches, allowGet: false, userAgent: 'test', signal });
  return { asker, asked, cookies };
}

/** Asks for the longest wait that is made. */
const busy = () => later('120');
const later = (seconds: string) =>
  new Response(null, { status: 429, headers: { 'Retry-After': seconds } });

test('a wait that one server asks for does not hold back requests to another', async () => {
  const stop = new AbortController();
  const { asker, asked } = askerOf(
    ({ host }) => (host === 'busy.example' ? busy() : new Response(null, { status: 404 })),
    stop.signal,
  );
  const held = asker.short(new URL('http://busy.example/1'));
  expect(await asker.short(new URL('http://other.example/'))).toMatchObject({ status: 404 });
  expect(asked).toEqual(['http://busy.example/1', 'http://other.example/']);
  stop.abort();
  expect(await held).toMatchObject({ failure: 'not_asked' });
});

test('a longer wait than two minutes is not made', async () => {
  const { asker, asked } = askerOf(() => later('121'));
  expect(await asker.short(new URL('http://busy.example/'))).toMatchObject({ status: 429 });
  expect(asked).toHaveLength(1);
});

test('without retries, no wait is made', async () => {
  const { asker, asked } = askerOf(() => later('0.01'), undefined, 0);
  expect(await asker.short(new URL('http://busy.example/'))).toMatchObject({ status: 429 });
  expect(asked).toHaveLength(1);
});

test('a server that asks to wait again and again is not asked for ever', async () => {
  const { asker, asked } = askerOf(() => later('0.01'));
  expect(await asker.short(new URL('http://busy.example/'))).toMatchObject({ status: 429 });
  expect(asked).toHaveLength(11);
});

test.concurrent.each(['0', '-1', 'soon 5', '1.2.3', 'Thu, 01 Jan 1970 00:00:00 GMT'])(
  'Retry-After: %s names no wait, and the usual ones are made',
  async (text) => {
    const { asker, asked } = askerOf(() => later(text));
    const begun = performance.now();
    expect(await asker.short(new URL('http://busy.example/'))).toMatchObject({ status: 429 });
    expect(asked).toHaveLength(3);
    expect(performance.now() - begun).toBeGreaterThan(1_400);
  },
);

test('a request that has ended leaves neither its body nor a timer nor a listener', async () => {
  const timers = vi.spyOn(globalThis, 'setTimeout');
  onTestFinished(() => void timers.mockRestore());
  const { signal } = new AbortController();
  const cancel = vi.fn();
  const { asker } = askerOf(() => new Response(new ReadableStream({ cancel })), signal);
  await asker.short(new URL('http://endless.example/'));
  expect(cancel).toHaveBeenCalledOnce();
  expect(timers.mock.results.map(({ value }) => value)).toMatchObject([{ _destroyed: true }]);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});

test('a target that is asked too often is not waited for', async () => {
  const { asker, asked } = askerOf(busy);
  expect(await asker.target(new URL('http://busy.example/'))).toMatchObject({ status: 429 });
  expect(asked).toHaveLength(1);
});

const redirect = (to: string, ...cookies: string[]) => {
  const headers = cookies.map((cookie) => ['Set-Cookie', cookie] as [string, string]);
  return new Response(null, { status: 302, headers: [['Location', to], ...headers] });
};

test.each([
  [20, { status: 200 }],
  [21, { failure: 'unreachable', problem: 'it redirects more than 20 times' }],
])('a target that redirects %i times is followed as far as browsers do', async (times, reply) => {
  const { asker } = askerOf(({ pathname }) => {
    const next = Number(pathname.slice(1)) + 1;
    return next > times ? new Response() : redirect(`/${next}`);
  });
  expect(await asker.target(new URL('http://pages.example/0'))).toMatchObject(reply);
});

test('a cookie goes to the host that has set it, or those below its domain, until it is taken back', async () => {
  const other = 'other=3; Domain=b.example';
  const pages: Record<string, Response> = {
    'a.example': redirect('http://xa.example/', 'own=1', 'wide=2; Domain=a.example', other),
    'xa.example': redirect('http://b.example/'),
    'b.example': redirect('http://sub.a.example/', 'own=b'),
    'sub.a.example': redirect('http://c.a.example/', 'wide=; Domain=a.example; Max-Age=0'),
    'c.a.example': new Response(),
  };
  const { asker, cookies } = askerOf(({ hostname }) => pages[hostname] ?? Response.error());
  await asker.target(new URL('http://a.example/'));
  expect(cookies).toEqual([null, null, null, 'wide=2', null]);
});

test.each(['localhost', '127.0.0.1'])(
  'an agent for public addresses does not connect to %s',
  async (host) => {
    let connections = 0;
    const server = createServer().on('connection', () => {
      connections += 1;
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    // The name of this machine stands for any name that leads inside.
    const response = fetchVia(createAgent(undefined, true))(`http://${host}:${port}/`);
    await expect(response).rejects.toMatchObject({ cause: { code: 'PRIVATE_ADDRESS' } });
    expect(connections).toBe(0);
  },
);

test.each([
  ['127.0.0.1', true],
  ['0.1.2.3', true],
  ['10.255.0.1', true],
  ['100.64.0.1', true],
  ['192.168.1.1', true],
  ['169.254.169.254', true],
  ['172.31.0.1', true],
  ['[::1]', true],
  ['[::ffff:7f00:1]', true],
  ['[fd00::1]', true],
  ['[fe80::1]', true],
  ['[::]', true],
  ['localhost.', true],
  ['172.32.0.1', false],
  ['100.128.0.1', false],
  // Some programs that filter connections give such addresses to all names.
  ['198.18.0.1', false],
  ['[2606:4700::1111]', false],
  ['192.0.2.1', false],
  ['[2001:db8::1]', false],
  ['localhost.example.com', false],
])('%s is private: %s', (host, isPrivate) => {
  expect(isPrivateHost(host)).toBe(isPrivate);
});

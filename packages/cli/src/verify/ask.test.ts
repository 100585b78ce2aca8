import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { createAgent, fetchVia, isPrivateHost } from '../agents.ts';
import { Asker } from './ask.ts';

/** An asker whose requests get their responses from a function. */
function askerOf(respond: (url: URL) => Response, signal = new AbortController().signal) {
  const asked: string[] = [];
  const fetch = async (input: string | URL | Request) => {
    asked.push(String(input));
    return respond(new URL(String(input)));
  };
  const settings = { timeoutMs: 1000, maxRetries: 2, requestsPerMinute: undefined };
  const fetches = { fetchShort: fetch, fetchTarget: fetch };
  const asker = new Asker({ ...settings, ...fetches, allowGet: false, userAgent: 'test', signal });
  return { asker, asked };
}

const busy = () => new Response(null, { status: 429, headers: { 'Retry-After': '60' } });

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

test('a target that is asked too often is not waited for', async () => {
  const { asker, asked } = askerOf(busy);
  expect(await asker.target(new URL('http://busy.example/'))).toMatchObject({ status: 429 });
  expect(asked).toHaveLength(1);
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
  ['169.254.169.254', true],
  ['172.31.0.1', true],
  ['[::1]', true],
  ['[::ffff:7f00:1]', true],
  ['[fd00::1]', true],
  ['localhost.', true],
  ['172.32.0.1', false],
  ['192.0.2.1', false],
  ['[2001:db8::1]', false],
  ['localhost.example.com', false],
])('%s is private: %s', (host, isPrivate) => {
  expect(isPrivateHost(host)).toBe(isPrivate);
});

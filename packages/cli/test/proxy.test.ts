import { once } from 'node:events';
import { createServer, request as httpRequest } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { nobodyListens, stubService } from './stub-service.ts';
import { cli } from './test-io.ts';

const CREATE = ['create', 'https://example.com/'];

/** A proxy that tunnels (CONNECT) and forwards, and remembers where to. */
async function proxy(): Promise<{ url: string; seen: string[]; tunnels: string[] }> {
  const seen: string[] = [];
  const tunnels: string[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    const target = new URL(request.url ?? '');
    seen.push(target.host);
    const { method, headers } = request;
    const onward = httpRequest(target, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  server.on('connect', ({ url = '' }, socket) => {
    seen.push(url);
    tunnels.push(url);
    const [host, port] = url.split(':');
    const onward = connect(Number(port), host ?? '', () => {
      socket.write('HTTP/1.1 200 Connection Established\r\n\r\n');
      onward.pipe(socket).pipe(onward);
    });
    onward.on('error', () => socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n'));
    sockets.add(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.closeAllConnections();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, tunnels };
}

test.each(['HTTP_PROXY', 'http_proxy'])('requests go through %s', async (name) => {
  const service = await stubService();
  const { url, seen } = await proxy();
  const result = await cli(CREATE, { env: { ...service.env, [name]: url } });
  expect(result).toMatchObject({ exitCode: 0, stdout: 'https://sho.rt/c1\n' });
  expect(seen).toEqual([new URL(service.url).host]);
});

test('https goes through HTTPS_PROXY in a tunnel', async () => {
  const { url, seen } = await proxy();
  const target = (await nobodyListens()).replace('http:', 'https:');
  const env = { SHORTLINK_API_KEY: 'sl_x', SHORTLINK_BASE_URL: target, HTTPS_PROXY: url };
  const result = await cli([...CREATE, '--max-retries', '0', '--timeout', '2s'], { env });
  expect(result.exitCode).not.toBe(0);
  expect(seen).toEqual([new URL(target).host]);
});

test.each([
  ['hangs up', '', 'the proxy closed the connection'],
  ['refuses', 'HTTP/1.1 502 Bad Gateway\r\n\r\n', 'Proxy response (502)'],
  ['asks for a password', 'HTTP/1.1 407 Proxy Authentication Required\r\n\r\n', '407'],
])(
  'a proxy that %s instead of opening a tunnel: nothing was sent, and it is asked once',
  async (_, answer, words) => {
    let asked = 0;
    const server = createServer().on('connect', (_request, socket) => {
      asked += 1;
      socket.end(answer);
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    onTestFinished(() => void server.close());
    const env = {
      SHORTLINK_API_KEY: 'sl_x',
      SHORTLINK_BASE_URL: 'https://go.example.com',
      HTTPS_PROXY: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    };
    const result = await cli([...CREATE, '--max-retries', '0'], { env });
    expect(result.exitCode).toBe(1);
    expect(result.stderr).toContain(`No connection to https://go.example.com: `);
    expect(result.stderr).toContain(words);
    expect(asked).toBe(1);
  },
);

test('http is passed on, not tunnelled, since many proxies open tunnels to port 443 only', async () => {
  const service = await stubService();
  const { url, tunnels } = await proxy();
  expect((await cli(CREATE, { env: { ...service.env, HTTP_PROXY: url } })).exitCode).toBe(0);
  expect(tunnels).toEqual([]);
});

test('NO_PROXY goes past it', async () => {
  const service = await stubService();
  const { url, seen } = await proxy();
  const env = { ...service.env, HTTP_PROXY: url, NO_PROXY: '127.0.0.1' };
  expect((await cli(CREATE, { env })).exitCode).toBe(0);
  expect(seen).toEqual([]);
});

test('a bad proxy address is named, and its password is not', async () => {
  const service = await stubService();
  const env = { ...service.env, HTTPS_PROXY: 'socks5://user:secret@proxy' };
  const result = await cli(CREATE, { env });
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toMatch(/HTTPS_PROXY is not the address/);
  expect(result.stderr).not.toContain('secret');
});

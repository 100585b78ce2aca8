import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { type Fetch, type ListenOptions, listen } from '../src/serve.ts';

let listener: Awaited<ReturnType<typeof listen>>;
let sockets: Socket[] = [];
afterEach(async () => {
  vi.useRealTimers();
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await listener.close({ drainTimeoutMs: 0 });
});

async function serve(answer: Fetch, options: ListenOptions = {}): Promise<void> {
  listener = await listen('127.0.0.1', 0, { overrideGlobalObjects: false, ...options });
  listener.respondWith(answer);
}

/** A connection, and all that came over it. */
function open() {
  const socket = connect(Number(new URL(listener.url).port), '127.0.0.1');
  sockets.push(socket);
  socket.on('error', () => undefined);
  const connection = { socket, text: '', closed: once(socket, 'close') };
  socket.setEncoding('latin1').on('data', (chunk: string) => {
    connection.text += chunk;
  });
  return connection;
}

const GET = 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n';
const count = (text: string, part: string) => text.split(part).length - 1;

describe('requests sent ahead of their responses', () => {
  test('are answered in order while there are few', async () => {
    let handled = 0;
    await serve(async () => {
      handled += 1;
      const mine = handled;
      await sleep(20 - mine);
      return new Response(`<${mine}>`);
    });
    const connection = open();
    connection.socket.write(GET.repeat(16));
    await expect.poll(() => count(connection.text, 'HTTP/1.1 200')).toBe(16);
    expect(connection.text.match(/<\d+>/g)).toEqual(
      Array.from({ length: 16 }, (_, n) => `<${n + 1}>`),
    );
  });

  test('are too many above 16: the connection is closed, and no more of them are worked on', async () => {
    let handled = 0;
    await serve(async () => {
      handled += 1;
      await sleep(100);
      return new Response('x'.repeat(10_000));
    });
    const { socket, closed } = open();
    socket.write(GET.repeat(1_000));
    await closed;
    expect(handled).toBeLessThanOrEqual(16);
  });
});

describe('a connection whose client does not read', () => {
  /** More than the buffers of two sockets take. */
  const LARGE = 16 * 1024 * 1024;

  test('is closed, also with responses behind the one that it does not read', async () => {
    let cancelled = 0;
    const large = () =>
      new ReadableStream<Uint8Array>({
        pull: (controller) => controller.enqueue(new Uint8Array(65_536)),
        cancel: () => {
          cancelled += 1;
        },
      });
    await serve(() => new Response(large()), { stalledTimeoutMs: 200 });
    const { socket } = open();
    socket.pause();
    socket.write(GET.repeat(3));
    await expect.poll(() => cancelled).toBe(3);
  });

  test('has a minute, and other bounds of time and number hold without being asked for', async () => {
    const servers: unknown[] = [];
    const see = (message: unknown) => {
      if (message instanceof Object && 'server' in message) servers.push(message.server);
    };
    subscribe('http.server.request.start', see);
    await serve(() => new Response('done'));
    const connection = open();
    connection.socket.write(GET);
    await expect.poll(() => connection.text).toContain('done');
    unsubscribe('http.server.request.start', see);
    expect(servers).toMatchObject([
      {
        timeout: 60_000,
        headersTimeout: 20_000,
        requestTimeout: 120_000,
        keepAliveTimeout: 75_000,
        maxConnections: 10_000,
      },
    ]);
  });

  test('is kept while it reads slowly', async () => {
    await serve(() => new Response(new Uint8Array(LARGE)), { stalledTimeoutMs: 3_000 });
    const { socket } = open();
    let received = 0;
    socket.removeAllListeners('data');
    socket.on('data', (chunk: string) => {
      received += chunk.length;
      socket.pause();
      setTimeout(() => socket.resume(), 20);
    });
    socket.write(GET);
    await expect.poll(() => received).toBeGreaterThan(LARGE);
  });
});

describe('while the server stops', () => {
  test('every response says that its connection closes, also of a request that came before', async () => {
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    await serve(async (request) => {
      if (request.url.endsWith('/held')) await held;
      return new Response('done');
    });
    const first = open();
    first.socket.write('GET /held HTTP/1.1\r\nHost: x\r\n\r\n');
    const second = open();
    second.socket.write(GET);
    await expect.poll(() => second.text).toContain('done');
    expect(second.text).toMatch(/connection: keep-alive/i);
    listener.drain();
    second.socket.write(GET);
    await second.closed;
    expect(second.text).toMatch(/connection: close/i);
    release();
    await first.closed;
    expect(first.text).toMatch(/connection: close[\s\S]*done/i);
  });

  test.each(['before', 'after'])(
    'requests sent ahead %s it begins are all answered',
    async (when) => {
      const started: (() => void)[] = [];
      await serve(async () => {
        await new Promise<void>((resolve) => started.push(resolve));
        return new Response('done');
      });
      const connection = open();
      if (when === 'after') listener.drain();
      connection.socket.write(GET.repeat(4));
      await expect.poll(() => started.length).toBe(4);
      listener.drain();
      for (const release of started) release();
      await connection.closed;
      expect(
        connection.text.match(/connection: [\w-]+/gi)?.map((line) => line.toLowerCase()),
      ).toEqual([...Array(3).fill('connection: keep-alive'), 'connection: close']);
      expect(count(connection.text, 'done')).toBe(4);
    },
  );

  test('no request of a connection in use is lost', async () => {
    await serve(async (request) => {
      await request.arrayBuffer();
      await sleep(1);
      return new Response('done');
    });
    const port = Number(new URL(listener.url).port);
    const outcomes = { done: 0, lost: 0 };
    let isStopping = false;
    const client = async () => {
      // Each connection sends one request after the other, until a response says that it closes.
      while (!isStopping) {
        const socket = connect(port, '127.0.0.1');
        sockets.push(socket);
        socket.setEncoding('latin1').setMaxListeners(0);
        const isOpen = await once(socket, 'connect').then(
          () => true,
          () => false,
        );
        if (!isOpen) return;
        for (;;) {
          socket.write('POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}');
          let text = '';
          // On a busy machine, a response comes in pieces.
          while (!/\r\n\r\n(?:done|4\r\ndone\r\n0\r\n\r\n)$/.test(text)) {
            const [piece] = await Promise.race([
              once(socket, 'data').catch(() => [undefined]),
              once(socket, 'close').then(() => [undefined]),
            ]);
            if (piece === undefined) {
              outcomes.lost += 1;
              return;
            }
            text += piece;
          }
          outcomes.done += 1;
          if (/connection: close/i.test(text)) break;
          await sleep(Math.random() * 40);
        }
        socket.destroy();
      }
    };
    const clients = Array.from({ length: 40 }, client);
    await expect.poll(() => outcomes.done).toBeGreaterThan(200);
    isStopping = true;
    await listener.close();
    await Promise.all(clients);
    expect(outcomes.lost).toBe(0);
  });

  test('connections that nobody uses do not hold it up', async () => {
    await serve(() => new Response('done'));
    const { socket, closed } = open();
    await once(socket, 'connect');
    await listener.close();
    await closed;
  });

  test('a request that never ends holds it up for its time only', async () => {
    const reached = vi.fn<() => Promise<Response>>(() => new Promise(() => undefined));
    await serve(reached);
    const { socket, closed } = open();
    socket.write(GET);
    await expect.poll(() => reached.mock.calls.length).toBe(1);
    await listener.close({ drainTimeoutMs: 50 });
    await closed;
  });

  test('it leaves no timer that would keep the process alive', async () => {
    await serve(() => new Response('done'));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval'] });
    await listener.close();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('what node rejects before the service sees it', () => {
  const request = (text: string) => {
    const connection = open();
    connection.socket.write(text);
    return connection.closed.then(() => connection.text);
  };

  test.each([
    ['no HTTP', 'hello\r\n\r\n', 400],
    ['a header without a name', 'GET / HTTP/1.1\r\nHost: x\r\n: y\r\n\r\n', 400],
    ['headers above 16 KiB', `GET / HTTP/1.1\r\nHost: x\r\nX: ${'y'.repeat(20_000)}\r\n\r\n`, 431],
    ['no Host', 'GET / HTTP/1.1\r\n\r\n', 400],
    ['two Host lines', 'GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n', 400],
    ['two equal Host lines', 'GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n', 400],
    ['a broken Host', 'GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n', 400],
    ['a Host above 300 bytes', `GET / HTTP/1.1\r\nHost: ${'y'.repeat(301)}\r\n\r\n`, 400],
    [
      'a request target with a host above 300 bytes',
      `GET http:///${'%C3%BC'.repeat(51)}/ HTTP/1.1\r\nHost: x\r\n\r\n`,
      400,
    ],
    ['an expectation', 'GET / HTTP/1.1\r\nHost: x\r\nExpect: wonders\r\n\r\n', 417],
    [
      'a broken chunk',
      'POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      400,
    ],
  ])(
    '%s has a JSON body and a request id, and closes the connection',
    async (_name, text, status) => {
      await serve(async (incoming) => {
        await incoming.text().catch(() => undefined);
        return new Response('reached');
      });
      const response = await request(text);
      expect(response.startsWith(`HTTP/1.1 ${status} `)).toBe(true);
      const [head = '', body = ''] = response.split('\r\n\r\n');
      expect(head).toMatch(/^x-request-id: [0-9a-f-]{36}$/im);
      expect(head).toMatch(/^content-type: application\/json$/im);
      expect(head).toMatch(/^connection: close$/im);
      expect(JSON.parse(body)).toEqual({ error: expect.any(String), code: 'invalid_request' });
      expect(Number(/^content-length: (\d+)$/im.exec(head)?.[1])).toBe(body.length);
    },
  );

  test.each([
    ['headers that never end', 'GET / HTTP/1.1\r\nHost: x\r\n'],
    ['a body that never ends', 'POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\n{'],
  ])(
    '%s: 408 with a JSON body and a request id, and the connection is closed',
    async (_name, text) => {
      const reached = async (incoming: Request) => {
        await incoming.text().catch(() => undefined);
        return new Response('reached');
      };
      await serve(reached, {
        timeouts: { headersTimeout: 200, requestTimeout: 300, connectionsCheckingInterval: 200 },
      });
      const [head = '', body = ''] = (await request(text)).split('\r\n\r\n');
      expect(head).toMatch(/^HTTP\/1\.1 408 /);
      expect(head).toMatch(/^x-request-id: [0-9a-f-]{36}$/im);
      expect(head).toMatch(/^connection: close$/im);
      expect(JSON.parse(body)).toEqual({ error: expect.any(String), code: 'invalid_request' });
    },
  );

  test('what is no request behind one in flight closes the connection, and gets no response', async () => {
    const onRefused = vi.fn<(status: number) => void>();
    await serve(() => new Promise(() => undefined), { onRefused });
    expect(await request(`${GET.repeat(2)}hello\r\n\r\n`)).toBe('');
    expect(onRefused).not.toHaveBeenCalled();
  });

  test('a Host and the host of a request target may have 300 bytes', async () => {
    await serve((incoming) => new Response(new URL(incoming.url).pathname));
    const host = 'y'.repeat(300);
    for (const head of [
      `GET /${host}y HTTP/1.1\r\nHost: ${host}`,
      `GET http://${host}/${host}y HTTP/1.1\r\nHost: x`,
    ]) {
      expect(await request(`${head}\r\nConnection: close\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /);
    }
  });

  test('a health check of HTTP/1.0 needs no Host', async () => {
    await serve((incoming) => new Response(new URL(incoming.url).pathname));
    const response = await request('GET /healthz HTTP/1.0\r\n\r\n');
    expect(response).toMatch(/^HTTP\/1\.1 200 [\s\S]*\/healthz$/);
  });
});

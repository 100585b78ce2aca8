import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ConnectionError, TimeoutError } from '../src/errors/call-errors.ts';
import { LINK } from './answers.ts';
import { makeClient } from './make-client.ts';

/** What an HTTP mock can't play: real sockets on the loopback interface. */
const servers: Server[] = [];

async function listen(server: Server): Promise<string> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Counts whole requests, bodies read, and answers them with `handle`. */
async function serve(handle: (count: number, req: IncomingMessage, res: ServerResponse) => void) {
  let count = 0;
  const server = createServer((req, res) => {
    req.resume().on('end', () => {
      count += 1;
      handle(count, req, res);
    });
  });
  return { baseUrl: await listen(server), count: () => count };
}

/** A port on which nothing listens. */
async function closedPort(): Promise<string> {
  const server = createTcpServer();
  const baseUrl = await listen(server);
  await new Promise((resolve) => server.close(resolve));
  return baseUrl;
}

const created = (res: ServerResponse) => {
  res.writeHead(201, { 'Content-Type': 'application/json' }).end(JSON.stringify(LINK));
};
const LINK_BODY = { target_url: LINK.target_url };

afterEach(async () => {
  for (const server of servers.splice(0)) {
    if ('closeAllConnections' in server && typeof server.closeAllConnections === 'function') {
      server.closeAllConnections();
    }
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  }
});

describe('a connection reset after the request was read', () => {
  it('sends a POST exactly once', async () => {
    const { baseUrl, count } = await serve((_, req) => req.socket.resetAndDestroy());
    const call = makeClient({ baseUrl }).links.create(LINK_BODY);
    const error = await call.catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConnectionError);
    expect(error).toHaveProperty('outcome', 'unknown');
    // A second one would come at once: give it the time.
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(count()).toBe(1);
  });

  it('sends a POST exactly once on a connection that is used again', async () => {
    const { baseUrl, count } = await serve((n, req, res) =>
      n === 1 ? created(res) : req.socket.resetAndDestroy(),
    );
    const { links } = makeClient({ baseUrl });
    await links.create(LINK_BODY);
    await expect(links.create(LINK_BODY)).rejects.toHaveProperty('outcome', 'unknown');
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(count()).toBe(2);
  });

  it('sends a POST with a key again', async () => {
    const { baseUrl, count } = await serve((n, req, res) =>
      n === 1 ? req.socket.resetAndDestroy() : created(res),
    );
    await expect(
      makeClient({ baseUrl, idempotency: true }).links.create(LINK_BODY),
    ).resolves.toEqual(LINK);
    expect(count()).toBe(2);
  });
});

describe('a connection that never stood', () => {
  it('is retried for a POST too, and ends as not-sent', async () => {
    const retries: unknown[] = [];
    const baseUrl = await closedPort();
    const hooks = { onRetry: ({ error }: { error: unknown }) => retries.push(error) };
    const call = makeClient({ baseUrl, hooks, maxRetries: 2 }).links.create(LINK_BODY);
    await expect(call).rejects.toMatchObject({
      name: 'ConnectionError',
      outcome: 'not-sent',
      message: expect.stringContaining('ECONNREFUSED'),
    });
    expect(retries).toHaveLength(2);
  });

  it('is not-sent for a name that does not exist', async () => {
    const call = makeClient({ baseUrl: 'http://a..invalid', maxRetries: 0 }).links.create(
      LINK_BODY,
    );
    await expect(call).rejects.toHaveProperty('outcome', 'not-sent');
  });

  it('is not-sent for a port that speaks no TLS, says so, and is not retried', async () => {
    const { baseUrl, count } = await serve((_, __, res) => created(res));
    const retries: unknown[] = [];
    const hooks = { onRetry: (event: unknown) => retries.push(event) };
    const call = makeClient({ baseUrl: baseUrl.replace('http:', 'https:'), hooks });
    await expect(call.links.create(LINK_BODY)).rejects.toMatchObject({
      outcome: 'not-sent',
      message: expect.stringContaining('this port speaks no TLS; use http: in baseUrl'),
    });
    expect(count()).toBe(0);
    expect(retries).toEqual([]);
  });

  it('is not-sent when it is closed during the TLS handshake', async () => {
    const server = createTcpServer((socket) => socket.once('data', () => socket.end()));
    const baseUrl = (await listen(server)).replace('http:', 'https:');
    const retries: unknown[] = [];
    const hooks = { onRetry: (event: unknown) => retries.push(event) };
    const call = makeClient({ baseUrl, hooks, maxRetries: 1 }).links.create(LINK_BODY);
    await expect(call).rejects.toMatchObject({ name: 'ConnectionError', outcome: 'not-sent' });
    expect(retries).toHaveLength(1);
  });

  it('stays unknown when an earlier attempt of a keyed POST was lost', async () => {
    const { baseUrl } = await serve((_, req) => {
      req.socket.resetAndDestroy();
      for (const server of servers) server.close();
    });
    const call = makeClient({ baseUrl, idempotency: true, maxRetries: 1 }).links.create(LINK_BODY);
    const error = await call.catch((reason: unknown) => reason);
    expect(error).toMatchObject({ name: 'ConnectionError', outcome: 'unknown' });
    expect(error).toHaveProperty('cause.outcome', 'not-sent');
  });
});

describe('timeoutMs', () => {
  it('ends an attempt that gets no answer', async () => {
    const { baseUrl, count } = await serve(() => {});
    const call = makeClient({ baseUrl, timeoutMs: 2_000 }).links.create(LINK_BODY);
    await expect(call).rejects.toMatchObject({
      name: 'TimeoutError',
      outcome: 'unknown',
      timeoutMs: 2_000,
    });
    expect(count()).toBe(1);
  });

  it('covers the body', async () => {
    const { baseUrl } = await serve((_, __, res) => {
      res.writeHead(201, { 'Content-Type': 'application/json' }).write('{"id":');
    });
    const call = makeClient({ baseUrl, timeoutMs: 50 }).links.create(LINK_BODY);
    await expect(call).rejects.toBeInstanceOf(TimeoutError);
  });

  it('is retried for a GET', async () => {
    const { baseUrl, count } = await serve((n, _, res) => {
      if (n > 1) res.writeHead(404).end('{"error":"no such job"}');
    });
    const call = makeClient({ baseUrl, timeoutMs: 2_000 }).jobs.retrieve('x');
    await expect(call).rejects.toHaveProperty('status', 404);
    expect(count()).toBe(2);
  });
});

describe('totalTimeoutMs', () => {
  it('ends a call in the middle of an attempt, and does not know what became of it', async () => {
    const { baseUrl } = await serve(() => {});
    const call = makeClient({ baseUrl, totalTimeoutMs: 50 }).links.create(LINK_BODY);
    await expect(call).rejects.toMatchObject({
      name: 'TimeoutError',
      outcome: 'unknown',
      message: 'The call took longer than 50 ms',
    });
  });
});

describe('an answer that breaks off', () => {
  it('is lost, when it was a success', async () => {
    const { baseUrl, count } = await serve((_, req, res) => {
      res.writeHead(201, { 'Content-Length': '500' }).write('{"id":');
      setTimeout(() => req.socket.destroy(), 10);
    });
    const call = makeClient({ baseUrl }).links.create(LINK_BODY);
    await expect(call).rejects.toMatchObject({ name: 'ConnectionError', outcome: 'unknown' });
    expect(count()).toBe(1);
  });

  it('still counts, when it was a refusal', async () => {
    const { baseUrl, count } = await serve((n, req, res) => {
      if (n > 1) return created(res);
      res.writeHead(429, { 'Content-Length': '500', 'Retry-After': '0' }).write('{"error":');
      setTimeout(() => req.socket.destroy(), 10);
    });
    await expect(makeClient({ baseUrl }).links.create(LINK_BODY)).resolves.toEqual(LINK);
    expect(count()).toBe(2);
  });
});

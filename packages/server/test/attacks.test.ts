import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { request } from 'node:http';
import type { Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { connectTo, type ServerProcess, useProcesses } from './server-process.ts';

const { start } = useProcesses();

/** A heap as small as that of a small container. */
const SMALL_HEAP = { NODE_OPTIONS: '--max-old-space-size=512' };

const MIB = 1024 * 1024;

/** Memory of the process in MiB, as the system counts it, at its highest so far. */
async function peakMemory({ child }: ServerProcess): Promise<number> {
  const status = await readFile(`/proc/${child.pid}/status`, 'utf8');
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}

async function anyOf(socket: Socket, ...events: string[]): Promise<void> {
  const stop = new AbortController();
  await Promise.race(events.map((event) => once(socket, event, { signal: stop.signal })));
  stop.abort();
}

describe('without a key', () => {
  test('300 connections that send requests ahead and never read end nothing', async () => {
    const server = await start([], SMALL_HEAP);
    const ahead = 'GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n'.repeat(1_500);
    const sockets = Array.from({ length: 300 }, () => connectTo(server.url));
    await Promise.all(sockets.map((socket) => once(socket, 'connect')));
    for (const socket of sockets) socket.pause().write(ahead);
    for (let i = 0; i < 20; i += 1) expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(await peakMemory(server)).toBeLessThan(400);
    for (const socket of sockets) socket.destroy();
  });
});

describe('with any key', () => {
  /** Sends a body without a length, in the pieces it is given in; resolves to the status. */
  function send(server: ServerProcess, path: string, pieces: Iterable<Buffer>): Promise<number> {
    return new Promise((resolve, reject) => {
      const outgoing = request(server.url + path, {
        method: 'POST',
        headers: { 'X-Api-Key': server.key, 'Content-Type': 'application/json' },
      });
      outgoing.on('response', (response) => {
        response.resume();
        resolve(response.statusCode ?? 0);
      });
      outgoing.on('error', reject);
      for (const piece of pieces) outgoing.write(piece);
      outgoing.end();
    });
  }

  test('neither a body in pieces of one byte nor what is dear to parse takes much memory', async () => {
    const server = await start([], SMALL_HEAP);
    const before = await peakMemory(server);
    const socket = connectTo(server.url);
    let text = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      text += chunk;
    });
    socket.write(
      `POST /api/v1/links/batch HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${server.key}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const pieces = Buffer.from('1\r\n \r\n'.repeat(10_000));
    for (let sent = 0; sent < 15 * MIB && text === ''; sent += 10_000) {
      if (!socket.write(pieces)) await anyOf(socket, 'drain', 'data', 'close');
    }
    await expect.poll(() => text).toMatch(/^HTTP\/1\.1 400 [\s\S]*pieces/);
    expect((await peakMemory(server)) - before).toBeLessThan(200);

    // Neither does what would take hundreds of megabytes to parse.
    const ofField = (field: string) =>
      Buffer.from(`{"links":[{"target_url":"https://example.com/"}],"x":${field}`);
    for (const unit of ['[', '{},']) {
      const body = [ofField('['), Buffer.from(unit.repeat((15 * MIB) / unit.length))];
      // The connection may be closed before all is sent; then there is no status.
      const requests = Array.from({ length: 3 }, () =>
        send(server, '/api/v1/links/batch', body).catch(() => undefined),
      );
      const statuses = (await Promise.all(requests)).filter((status) => status !== undefined);
      // As with bodies that are good, there is no memory for all of one account at once.
      expect(new Set(statuses.filter((status) => status !== 503))).toEqual(new Set([400]));
    }
    const keysThatAreNumbers = (n: number) => `"${n * 8_000}":1.5`;
    const ownShapes = (n: number) => `"k":{"a${n}":{"b${n}":0.5}}`;
    for (const [count, field] of [
      [480_000, keysThatAreNumbers],
      [160_000, ownShapes],
    ] as const) {
      const fields = Array.from({ length: count }, (_, n) => field(n)).join();
      const body = [ofField(`{${fields}}}`)];
      const requests = Array.from({ length: 2 }, () => send(server, '/api/v1/links/batch', body));
      // What finds no memory left of what an account may hold is rejected.
      expect([200, 503]).toEqual(expect.arrayContaining(await Promise.all(requests)));
      expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    }
    expect((await peakMemory(server)) - before).toBeLessThan(300);
  });

  test('16 MiB of links with every field, in characters of three bytes, are no danger, and neither are 15 of the largest bodies at once', async () => {
    const server = await start([], SMALL_HEAP);
    const before = await peakMemory(server);
    const title = '漢'.repeat(100);
    const tags = Array.from({ length: 20 }, (_, n) => `漢${n}`);
    const link = { target_url: `https://example.com/${'x'.repeat(900)}`, title, tags };
    const links = Buffer.from(JSON.stringify({ links: Array(10_000).fill(link) }));
    expect(links.length).toBeLessThan(16 * MIB);
    expect(links.length).toBeGreaterThan(13 * MIB);
    expect(await send(server, '/api/v1/links/batch', [links])).toBe(202);
    expect((await peakMemory(server)) - before).toBeLessThan(400);

    // They are created or rejected with 503, and the server continues.
    const filler = Buffer.alloc(64 * 1024, 0x78);
    const opening = Buffer.from('{"links":[{"target_url":"https://example.com/"}],"x":"');
    const body = [opening, ...Array<Buffer>(250).fill(filler), Buffer.from('"}')];
    const statuses = await Promise.all(
      Array.from({ length: 15 }, () => send(server, '/api/v1/links/batch', body)),
    );
    expect(new Set(statuses)).toEqual(new Set([200, 503]));
    expect((await fetch(`${server.url}/healthz`)).status).toBe(200);
    expect(await send(server, '/api/v1/links/batch', body)).toBe(200);
    expect(await peakMemory(server)).toBeLessThan(600);
  });
});

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { request } from 'node:http';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { MAX_BODY_BYTES } from '@shortlink/sdk/wire';
import { expect, test } from 'vitest';
import { startTestServer } from '../src/testing/index.ts';
import { BATCH, entries } from './fixture.ts';
import { useProcesses } from './server-process.ts';

const { start, folder } = useProcesses();

/** What is checked on a thread. */
const LARGE = JSON.stringify({ links: entries(10_000) });

interface Server {
  url: string;
  key: string;
}

const headersOf = ({ key }: Server) => ({ 'X-Api-Key': key, 'Content-Type': 'application/json' });

const postBatch = (server: Server, body: string) =>
  fetch(server.url + BATCH, { method: 'POST', headers: headersOf(server), body });

/** Sends a body but for its last byte, and resolves once the server reads it. */
async function beginBatch(server: Server, body = LARGE) {
  const outgoing = request(server.url + BATCH, { method: 'POST', headers: headersOf(server) });
  outgoing.setHeader('Content-Length', body.length).on('error', () => undefined);
  await new Promise((resolve) => outgoing.write(body.slice(0, -1), resolve));
  await fetch(`${server.url}/healthz`);
  return outgoing;
}

test('a test server has a thread for large bodies, and its end waits for none', async () => {
  const { apiKey: key, ...server } = await startTestServer();
  expect((await postBatch({ ...server, key }, LARGE)).status).toBe(202);
  const cut = postBatch({ ...server, key }, LARGE).catch(() => 'cut');
  await server.close();
  await cut;
});

test('a stop lets the thread finish, its job runs after the next start, and clients that go away leave the memory to others', async () => {
  const server = await start();
  const outgoing = await beginBatch(server);
  outgoing.end(LARGE.slice(-1));
  server.child.kill('SIGTERM');
  const [response] = await once(outgoing, 'response');
  expect(response.statusCode).toBe(202);
  const job = server.url + response.headers.location;
  response.resume();
  expect((await server.ended).code).toBe(0);
  const next = await start();
  const headers = { 'X-Api-Key': server.key };
  const read = async () => (await fetch(job.replace(server.url, next.url), { headers })).json();
  await expect
    .poll(read, { interval: 200 })
    .toMatchObject({ status: 'completed', processed: 10_000 });

  // Clients that go away, in the middle of their bodies or at the end, leave the memory to others.
  const again = { ...next, key: server.key };
  const padded = LARGE.padEnd(9 * 1_048_576);
  for (const isWhole of [false, true, false, true]) {
    const outgoing = await beginBatch(again, padded);
    if (isWhole) outgoing.end(' ');
    const closed = new Promise((resolve) => outgoing.once('close', resolve));
    outgoing.destroy();
    await closed;
  }
  const largest = JSON.stringify({ links: entries(1) }).padEnd(MAX_BODY_BYTES);
  await expect.poll(async () => (await postBatch(again, largest)).status).toBe(200);
  expect(next.log()).not.toContain('request failed');
});

test('the thread starts although the working directory is gone', async () => {
  const cwd = join(folder(), 'gone');
  await mkdir(cwd);
  const testing = new URL('../src/testing/index.ts', import.meta.url).href;
  const code = `
    import { rmSync } from 'node:fs';
    const { startTestServer } = await import(${JSON.stringify(testing)});
    const server = await startTestServer();
    rmSync(${JSON.stringify(cwd)}, { recursive: true });
    const body = JSON.stringify({ links: Array(5_000).fill({ target_url: 'https://example.com/' }) });
    const headers = { 'X-Api-Key': server.apiKey, 'Content-Type': 'application/json' };
    const response = await fetch(server.url + ${JSON.stringify(BATCH)}, { method: 'POST', headers, body });
    console.log(response.status);
    await server.close();`;
  const script = join(folder(), 'post.mjs');
  await writeFile(script, code);
  const { stdout } = await promisify(execFile)(process.execPath, [script], { cwd });
  expect(stdout.trim()).toBe('202');
});

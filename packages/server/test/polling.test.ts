import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { JobPace } from '../src/domain/job-pace.ts';
import { listen } from '../src/serve.ts';
import { openSqliteStore } from '../src/store/sqlite/index.ts';
import type { Store } from '../src/store/store.ts';
import { startTestService } from '../src/testing/test-service.ts';
import { BATCH, entries, Fixture } from './fixture.ts';

let app: Fixture;
let key: string;
beforeEach(async () => {
  app = await Fixture.open();
  key = await app.caller();
});

/** A job whose results have several megabytes, complete. */
async function largeJob(links = 2_000): Promise<string> {
  const filler = 'x'.repeat(1_000);
  const body = {
    links: entries(links).map(({ target_url }) => ({ target_url: `${target_url}${filler}` })),
  };
  const { json } = await app.post(key, BATCH, body);
  await app.runJob(json.job_id);
  return json.job_id;
}

describe('Retry-After', () => {
  test('says when to poll an accepted and a running job, and nothing once it is complete', async () => {
    const accepted = await app.post(key, BATCH, { links: entries(600) });
    expect(accepted.headers.get('retry-after')).toBe('0');
    const path = `/api/v1/jobs/${accepted.json.job_id}`;
    expect((await app.get(key, path)).headers.get('retry-after')).toBe('0');
    await app.store.runJobChunk(accepted.json.job_id, app.now);
    app.now += 40_000;
    expect((await app.get(key, path)).headers.get('retry-after')).toBe('4');
    await app.runJob(accepted.json.job_id);
    expect((await app.get(key, path)).headers.has('retry-after')).toBe(false);
  });

  test('is later for a job that waits for others, when it is accepted and at each poll', async () => {
    app = await Fixture.open({ jobs: { notify: () => undefined, pendingJobs: 100 } });
    key = await app.caller();
    await app.post(key, BATCH, { links: entries(9_000) });
    const accepted = await app.post(key, BATCH, { links: entries(600) });
    expect(accepted.headers.get('retry-after')).toBe('2');
    const polled = await app.get(key, `/api/v1/jobs/${accepted.json.job_id}`);
    expect([polled.json.processed, polled.headers.get('retry-after')]).toEqual([0, '2']);
  });

  test('follows from the links that were made while jobs were accepted, too', async () => {
    const jobPace = new JobPace();
    const made = vi.spyOn(jobPace, 'made');
    app = await Fixture.open({ jobPace });
    key = await app.caller();
    const { createJob } = app.store;
    app.store.createJob = async (request) => {
      const outcome = await createJob.call(app.store, request);
      return outcome.ok ? { ...outcome, value: { ...outcome.value, processed: 500 } } : outcome;
    };
    await app.post(key, BATCH, { links: entries(600) });
    expect(made).toHaveBeenCalledExactlyOnceWith(500, expect.any(Number), expect.any(Number));
  });
});

describe('results', () => {
  test('of any size come as one JSON text with its length', async () => {
    for (const links of [101, 1_100]) {
      const path = `/api/v1/jobs/${await largeJob(links)}`;
      const { json, text, headers } = await app.get(key, path);
      expect(json.results).toHaveLength(links);
      expect(json.results.at(-1).target_url).toMatch(new RegExp(`/${links - 1}x+$`));
      expect(Object.keys(json)).toEqual(['id', 'status', 'total', 'processed', 'results']);
      expect(headers.get('content-length')).toBe(String(Buffer.byteLength(text)));
    }
  });

  test('are read piece by piece, as the client reads them', async () => {
    const jobId = await largeJob();
    const read = vi.spyOn(app.store, 'readJobResults');
    const response = await app.request(`/api/v1/jobs/${jobId}`, { headers: { 'X-Api-Key': key } });
    const reader = response.body?.getReader();
    await reader?.read();
    await reader?.read();
    await sleep(20);
    expect(read.mock.calls.length).toBeLessThanOrEqual(2);
    await reader?.cancel();
    expect(read.mock.calls.length).toBeLessThanOrEqual(2);
  });

  test('are not read for HEAD, which has the same length', async () => {
    const path = `/api/v1/jobs/${await largeJob()}`;
    const length = (await app.get(key, path)).headers.get('content-length');
    const read = vi.spyOn(app.store, 'readJobResults');
    const answer = await app.send(path, { method: 'HEAD', headers: { 'X-Api-Key': key } });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-length')).toBe(length);
    expect(answer.text).toBe('');
    expect(read).not.toHaveBeenCalled();
  });
});

describe('polls of one account at the same time', () => {
  // A poll waits for 5 s at most, which on a busy machine can pass between two lines of a test.
  beforeEach(() => vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => vi.useRealTimers());

  test('follow each other, and those of another account do not wait for them', async () => {
    const path = `/api/v1/jobs/${await largeJob()}`;
    const held = await app.request(path, { headers: { 'X-Api-Key': key } });
    let isAnswered = false;
    const second = app.get(key, path).then((answer) => {
      isAnswered = true;
      return answer;
    });
    const other = await app.caller();
    expect((await app.get(other, path)).status).toBe(404);
    // The length needs no turn.
    const head = await app.send(path, { method: 'HEAD', headers: { 'X-Api-Key': key } });
    expect(head.status).toBe(200);
    expect(isAnswered).toBe(false);
    await held.text();
    expect((await second).status).toBe(200);
  });

  test('are 429 above a queue of 16, and count like all others', async () => {
    key = await app.caller('avance');
    const path = `/api/v1/jobs/${await largeJob()}`;
    const held = await app.request(path, { headers: { 'X-Api-Key': key } });
    const before = await usedRequests();
    const polls = Array.from({ length: 20 }, () => app.get(key, path));
    const refused = await Promise.all(polls.slice(16));
    for (const { status, json, headers } of refused) {
      expect(status).toBe(429);
      expect(json).toEqual({ error: expect.stringContaining('polls'), code: 'rate_limited' });
      expect(headers.get('retry-after')).toBe('1');
    }
    await held.body?.cancel();
    const answered = await Promise.all(polls.slice(0, 16));
    expect(new Set(answered.map(({ status }) => status))).toEqual(new Set([200]));
    expect((await usedRequests()) - before).toBe(20);
  });

  test('that wait for one that is not read are 429 after a while', async () => {
    const path = `/api/v1/jobs/${await largeJob()}`;
    const before = vi.getTimerCount();
    await app.request(path, { headers: { 'X-Api-Key': key } });
    const waiting = app.get(key, path);
    // The time that the first poll may take, and the time that the second one waits.
    await expect.poll(() => vi.getTimerCount()).toBe(before + 2);
    vi.advanceTimersByTime(5_000);
    expect((await waiting).status).toBe(429);
  });

  test('wait a minute at most for one that is not read', async () => {
    const path = `/api/v1/jobs/${await largeJob()}`;
    await app.request(path, { headers: { 'X-Api-Key': key } });
    vi.advanceTimersByTime(60_000);
    expect((await app.get(key, path)).status).toBe(200);
  });

  const usedRequests = async () =>
    (await app.get(key, '/api/v1/usage')).json.requests.month.used as number;
});

describe('over a socket', () => {
  let server: { url: string; apiKey: string; close: () => Promise<void> };
  let store: Store;
  const sockets: Socket[] = [];
  beforeEach(async () => {
    const listener = await listen('127.0.0.1', 0, { overrideGlobalObjects: false });
    const { url } = listener;
    store = await openSqliteStore({ path: ':memory:', publicUrl: url });
    const disconnect = () => listener.close({ drainTimeoutMs: 0 });
    const service = await startTestService(store, url, { plan: 'custom' }, { disconnect });
    listener.respondWith(service.answer);
    server = service.subject;
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await server.close();
  });

  const headers = () => ({ 'X-Api-Key': server.apiKey, 'Content-Type': 'application/json' });

  test('60 polls whose results nobody reads hold no memory, and end with their connections', async () => {
    const filler = 'x'.repeat(1_000);
    const links = entries(10_000).map(({ target_url }) => ({
      target_url: `${target_url}${filler}`,
    }));
    const response = await fetch(server.url + BATCH, {
      method: 'POST',
      headers: headers(),
      body: JSON.stringify({ links }),
    });
    const { job_id } = JSON.parse(await response.text());
    const path = `/api/v1/jobs/${job_id}`;
    const statusOf = async () =>
      JSON.parse(await (await fetch(server.url + path, { headers: headers() })).text()).status;
    await expect.poll(statusOf, { interval: 200 }).toBe('completed');

    const read = vi.spyOn(store, 'readJobResults');
    for (let n = 0; n < 60; n += 1) {
      const socket = connect(Number(new URL(server.url).port), '127.0.0.1').pause();
      sockets.push(socket.on('error', () => undefined));
      await once(socket, 'connect');
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\nX-Api-Key: ${server.apiKey}\r\n\r\n`);
    }
    await expect.poll(() => read.mock.calls.length).toBeGreaterThan(0);
    await sleep(200);
    // What the buffers of one connection take; without a bound it would be the 20 chunks of each of the 60 polls.
    expect(read.mock.calls.length).toBeLessThan(20);
    for (const socket of sockets) socket.destroy();
    await expect.poll(statusOf).toBe('completed');
  });
});

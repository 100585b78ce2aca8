// What a failure, a pause or the end of something must leave behind: nothing that a later request meets.
import { EventEmitter } from 'node:events';
import type { Server } from 'node:http';
import { Readable } from 'node:stream';
import { Worker } from 'node:worker_threads';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { ownHostsOf } from '../src/domain/hostnames.ts';
import { authenticate } from '../src/http/admit.ts';
import { bodyChecker } from '../src/http/body-checker.ts';
import { Connections } from '../src/http/connections.ts';
import { fastRedirect } from '../src/http/fast-redirect.ts';
import { CLICK_FLUSH_MS, clickBuffer, MAX_BUFFERED_CODES } from '../src/jobs/click-buffer.ts';
import { JobRunner, RESCAN_MS } from '../src/jobs/runner.ts';
import { Metrics } from '../src/metrics/metrics.ts';
import { appOf } from './app-of.ts';
import { Fixture, LINKS, PUBLIC_URL, START, TARGET } from './fixture.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const USAGE = '/api/v1/usage';
const MINUTE = 60_000;
const withKey = (idempotencyKey: string) => ({ 'Idempotency-Key': idempotencyKey });

/** A promise, and what settles it. */
function held() {
  let release = () => {};
  const promise = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { promise, release };
}

describe('a create', () => {
  test('that fails leaves its idempotency key free, and one of another account never took it', async () => {
    const app = await Fixture.open();
    const [key, other] = [await app.caller(), await app.caller()];
    const { createLink } = app.store;
    app.store.createLink = () => Promise.reject(new Error('no disk'));
    const post = (of: string) => app.post(of, LINKS, { target_url: TARGET }, withKey('k'));
    expect((await post(key)).status).toBe(500);
    const { promise, release } = held();
    let waiting = 0;
    app.store.createLink = async (request) => {
      waiting += 1;
      await promise;
      return createLink(request);
    };
    const both = [post(key), post(other)];
    await expect.poll(() => waiting).toBe(2);
    expect((await post(key)).status).toBe(409);
    release();
    expect((await Promise.all(both)).map(({ status }) => status)).toEqual([201, 201]);
    expect((await post(key)).status).toBe(201);
    expect(await app.linksUsed(key)).toBe(1);
  });

  test('that fails in another minute than it began gets its request back in the minute of its beginning', async () => {
    const app = await Fixture.open();
    const key = await app.caller();
    const { createLink } = app.store;
    app.store.createLink = () => {
      app.now = START + MINUTE;
      return Promise.reject(new Error('no disk'));
    };
    await app.post(key, LINKS, { target_url: TARGET });
    app.store.createLink = createLink;
    await app.post(key, LINKS, { target_url: TARGET });
    const minute = async () => (await app.get(key, USAGE)).json.requests.minute.used;
    expect(await minute()).toBe(1);
    app.now = START;
    expect(await minute()).toBe(0);
  });
});

test('the usage of an account is read once at a time, however many ask while others wait', async () => {
  const app = await Fixture.open();
  const key = await app.caller();
  const { usage } = app.store;
  const readings: ReturnType<typeof held>[] = [];
  let running = 0;
  let most = 0;
  app.store.usage = async (...args) => {
    running += 1;
    most = Math.max(most, running);
    const reading = held();
    readings.push(reading);
    await reading.promise;
    running -= 1;
    return usage(...args);
  };
  const ask = () => app.get(key, USAGE);
  const begun = (count: number) => expect.poll(() => readings.length).toBe(count);
  const asked = [ask()];
  await begun(1);
  asked.push(ask());
  await new Promise((resolve) => setTimeout(resolve, 20));
  readings[0]?.release();
  // The first is done, and the second about to begin.
  await asked[0];
  asked.push(ask());
  await begun(2);
  await new Promise((resolve) => setTimeout(resolve, 20));
  asked.push(ask());
  readings[1]?.release();
  await begun(3);
  readings[2]?.release();
  await new Promise((resolve) => setTimeout(resolve, 20));
  for (const { release } of readings) release();
  expect((await Promise.all(asked)).map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect(most).toBe(1);
});

test('of the keys that were used, some are remembered: not all that there ever were', async () => {
  const recorded: string[] = [];
  const store = {
    findKeyByHash: async (hash: Uint8Array) => ({ keyId: Buffer.from(hash).toString('hex') }),
    recordKeyUse: async (keyId: string) => void recorded.push(keyId),
  };
  const middleware = authenticate({ store: store as never, now: () => START });
  const use = (key: string) =>
    middleware({ req: { header: () => key }, get() {}, set() {} } as never, async () => {});
  for (let n = 0; n < 10_001; n += 1) await use(`key ${n}`);
  expect(recorded).toHaveLength(10_001);
  await use('key 10000');
  expect(recorded).toHaveLength(10_001);
  await use('key 0');
  expect(recorded).toHaveLength(10_002);
});

describe('clicks', () => {
  test('are counted for ever: what was written takes no more room', async () => {
    vi.useFakeTimers();
    const sum = { written: 0, dropped: 0 };
    const store = {
      addClicks: async (clicks: ReadonlyMap<string, number>) => {
        sum.written += clicks.size;
      },
    };
    const onDropped = (clicks: number) => {
      sum.dropped += clicks;
    };
    const buffer = clickBuffer({ store, onDropped });
    const clicked = MAX_BUFFERED_CODES + 10_000;
    for (let n = 0; n < clicked; n += 1) {
      buffer.add(`code ${n}`);
      if (n % 10_000 === 0) await vi.advanceTimersByTimeAsync(CLICK_FLUSH_MS);
    }
    await buffer.stop();
    expect(sum).toEqual({ written: clicked, dropped: 0 });
  });

  test('that come while every write is under way are written without another click', async () => {
    vi.useFakeTimers();
    const { promise, release } = held();
    const written: string[] = [];
    const store = {
      addClicks: async (clicks: ReadonlyMap<string, number>) => {
        await promise;
        written.push(...clicks.keys());
      },
    };
    const buffer = clickBuffer({ store });
    const codes = Array.from({ length: 10 }, (_, n) => `code ${n}`);
    for (const code of codes) {
      buffer.add(code);
      await vi.advanceTimersByTimeAsync(CLICK_FLUSH_MS);
    }
    release();
    await vi.advanceTimersByTimeAsync(2 * CLICK_FLUSH_MS);
    expect(written.toSorted()).toEqual(codes);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('a job runner', () => {
  /** A store with one job, whose chunks end as `run` says. */
  function setUp(run: () => Promise<{ created: number; processed: number; done: boolean }>) {
    vi.useFakeTimers();
    const calls = { scans: 0, chunks: 0 };
    const jobs = new Set(['job']);
    const store = {
      pendingJobs: async () => {
        calls.scans += 1;
        return [...jobs];
      },
      runJobChunk: () => {
        calls.chunks += 1;
        return run();
      },
    };
    return { calls, jobs, runner: new JobRunner({ store }) };
  }

  test('that was stopped asks for nothing more, and lets the process end', async () => {
    const { runner, calls } = setUp(() => Promise.reject(new Error('no disk')));
    await runner.start();
    await vi.advanceTimersByTimeAsync(2 * RESCAN_MS);
    await runner.stop();
    expect(vi.getTimerCount()).toBe(0);
    const before = { ...calls };
    await vi.advanceTimersByTimeAsync(60_000);
    expect(calls).toEqual(before);
  });

  test('asks no more for a job that another one has ended, also where a chunk of it had failed', async () => {
    const ends = [() => Promise.reject(new Error('no disk'))];
    const { runner, calls, jobs } = setUp(
      () => ends.pop()?.() ?? Promise.resolve({ created: 0, processed: 1, done: true }),
    );
    await runner.start();
    jobs.clear();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(calls.chunks).toBe(2);
    await runner.stop();
  });

  test('looks for jobs again and again, also after a look that ended beside a failing job', async () => {
    let isFailing = true;
    const { runner, calls, jobs } = setUp(() =>
      isFailing
        ? Promise.reject(new Error('no disk'))
        : Promise.resolve({ created: 1, processed: 1, done: true }),
    );
    await runner.start();
    await vi.advanceTimersByTimeAsync(10 * RESCAN_MS);
    expect(calls.scans).toBeGreaterThanOrEqual(10);
    isFailing = false;
    jobs.clear();
    await vi.advanceTimersByTimeAsync(40_000);
    jobs.add('another');
    const before = calls.chunks;
    await vi.advanceTimersByTimeAsync(2 * RESCAN_MS);
    expect(calls.chunks).toBeGreaterThan(before);
    jobs.clear();
    await runner.stop();
  });
});

test('a large body that was checked keeps no process alive', async () => {
  const isOwnHost = () => false;
  const check = bodyChecker({
    store: {} as never,
    targetHosts: { allow: [], deny: [] },
    ownHosts: () =>
      ({ isOwnHost, hosts: [], isCustomDomain: () => false, isRemoved: () => false }) as never,
  });
  const keepAlive = ['ref', 'unref'].map((name) => vi.spyOn(Worker.prototype, name as 'ref'));
  const links = Array.from({ length: 2_000 }, (_, n) => ({ target_url: `${TARGET}/${n}` }));
  const bytes = new TextEncoder().encode(JSON.stringify({ links }));
  const body = { kind: 'batch', bytes, accountId: 'acc_x', keyedPath: undefined } as const;
  expect(await check(body)).toHaveProperty('input');
  const [ref = 0, unref = 0] = keepAlive.map((spy) => spy.mock.invocationCallOrder.at(-1));
  expect(unref).toBeGreaterThan(ref);
});

test('a body that was read leaves neither a timer nor a listener', async () => {
  const fixture = await Fixture.open();
  const { store } = fixture;
  const caller = await fixture.caller();
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const body = Readable.from([Buffer.from(JSON.stringify({ target_url: TARGET }))]);
  const headers = { 'X-Api-Key': caller, 'Content-Type': 'application/json' };
  const app = appOf({ store, publicUrl: PUBLIC_URL });
  const response = await app.request(LINKS, { method: 'POST', headers }, { body });
  expect(response.status).toBe(201);
  expect(vi.getTimerCount()).toBe(0);
  expect(['data', 'close'].map((event) => body.listenerCount(event))).toEqual([0, 0]);
});

test.each([
  ['is too large stops where it is', 413, [Buffer.alloc(300_000), Buffer.alloc(300_000)]],
  ['was closed before it is read is waited for by nobody', 400, undefined],
])('a body that %s', async (_name, status, pieces) => {
  const fixture = await Fixture.open();
  const { store } = fixture;
  const body = Readable.from(pieces ?? []);
  if (pieces === undefined) body.destroy();
  const headers = { 'X-Api-Key': await fixture.caller(), 'Content-Type': 'application/json' };
  const app = appOf({ store, publicUrl: PUBLIC_URL });
  // What `destroy` tells its listeners was told before the app has any.
  await new Promise((resolve) => setImmediate(resolve));
  const response = await app.request(LINKS, { method: 'POST', headers }, { body });
  expect(response.status).toBe(status);
  await new Promise((resolve) => setImmediate(resolve));
  expect(body.readableEnded).toBe(false);
});

describe('redirects from memory', () => {
  function setUp() {
    const link = { target_url: TARGET, redirect_type: 302, is_active: true, hostname: null };
    const ownHosts = ownHostsOf('https://sho.rt', []);
    const redirectNow = fastRedirect({
      ...{ redirects: { get: () => link }, knownOwnHosts: () => ownHosts, metrics: new Metrics() },
      ...{ onClick() {}, isDraining: () => false },
    } as never);
    return (host = 'sho.rt') => {
      const response = { writeHead() {}, end: vi.fn() };
      const request = { method: 'GET', url: '/Xk3pQ9z', headers: { host } };
      expect(redirectNow(request as never, response as never)).toBe(true);
      return response;
    };
  }

  test('end each response once, also where those of a turn are sent together', async () => {
    const redirect = setUp();
    const responses: ReturnType<typeof redirect>[] = [];
    for (let turn = 0; turn < 4; turn += 1) {
      for (let n = 0; n < 3; n += 1) responses.push(redirect());
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(responses.every(({ end }) => end.mock.calls.length === 1)).toBe(true);
  });

  test('remember how some hosts are spelt, not all that anybody invents', () => {
    const redirect = setUp();
    const parse = vi.spyOn(URL, 'parse');
    const parsed = (host: string) => {
      parse.mockClear();
      redirect(host);
      return parse.mock.calls.length;
    };
    for (let n = 0; n < 1_000; n += 1) expect(parsed(`${n}.example`)).toBe(1);
    expect(parsed('0.example')).toBe(0);
    expect(parsed('1000.example')).toBe(1);
    expect(parsed('0.example')).toBe(1);
  });
});

describe('a connection', () => {
  class FakeSocket extends EventEmitter {
    writable = true;
    destroyed = false;
    bytesRead = 0;
    calls: string[] = [];
    end = () => void this.calls.push('end');
    destroy = () => void this.calls.push('destroy');
  }
  class FakeResponse extends EventEmitter {
    headersSent = false;
    shouldKeepAlive = true;
    socket: unknown = null;
  }
  function setUp() {
    vi.useFakeTimers();
    const server = new EventEmitter();
    const connections = new Connections(server as Server);
    const socket = new FakeSocket();
    server.emit('connection', socket);
    const begin = () => {
      const response = new FakeResponse();
      connections.begin({ socket } as never, response as never);
      return response;
    };
    return { connections, socket, begin };
  }

  test('that is closed is forgotten, and so are the responses that wait behind the one that is sent', () => {
    const { connections, socket, begin } = setUp();
    const [first, second] = [begin(), begin()];
    first.socket = socket;
    const closed: string[] = [];
    first.on('close', () => closed.push('first'));
    second.on('close', () => closed.push('second'));
    socket.emit('close');
    expect(closed).toEqual(['second']);
    connections.destroyAll();
    expect(socket.calls).toEqual([]);
  });

  test('is unused a second after its last response, and not a second after it was opened', async () => {
    const { connections, socket, begin } = setUp();
    await vi.advanceTimersByTimeAsync(5_000);
    begin().emit('close');
    connections.closeUnused();
    expect(socket.calls).toEqual([]);
    await vi.advanceTimersByTimeAsync(1_000);
    // The beginning of another request has come.
    socket.bytesRead = 5;
    connections.closeUnused();
    expect(socket.calls).toEqual([]);
    begin().emit('close');
    await vi.advanceTimersByTimeAsync(1_000);
    connections.closeUnused();
    expect(socket.calls).toEqual(['end']);
  });

  test('gets a response to what is no request only where nothing else can be taken for it', () => {
    const { connections, socket, begin } = setUp();
    const canRespond = () => connections.canRespond(socket as never);
    expect(canRespond()).toBe(true);
    const first = begin();
    expect(canRespond()).toBe(true);
    first.headersSent = true;
    expect(canRespond()).toBe(false);
    first.headersSent = false;
    begin();
    expect(canRespond()).toBe(false);
    first.emit('close');
    expect(canRespond()).toBe(true);
    socket.writable = false;
    expect(canRespond()).toBe(false);
  });
});

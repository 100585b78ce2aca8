import { performance } from 'node:perf_hooks';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Worker } from 'node:worker_threads';
import { expect, onTestFinished, test, vi } from 'vitest';
import {
  NOW,
  newCaller,
  newJob,
  newLink,
  newLinks,
  PUBLIC_URL,
} from '../contract/fixtures.test-suite.ts';
import { toJobInput } from '../links.ts';
import { StoreError } from '../store-error.ts';
import { Database } from './database.ts';
import { openSqliteStore } from './index.ts';
import { useDatabasePath } from './temp-database.test-suite.ts';
import type { WriteRequest } from './write-core.ts';
import { ThreadWriter, WriteQueue } from './writers.ts';

function collect() {
  const groups: WriteRequest[][] = [];
  const pending = new WriteQueue((requests) => groups.push(requests));
  const add = (count: number) =>
    Array.from({ length: count }, () => pending.submit('pruneSome', 0));
  return { groups, pending, add };
}

test('writes of one turn go together, and in groups of 16 where there are more', async () => {
  const { groups, add } = collect();
  add(3);
  expect(groups).toHaveLength(0);
  await nextTurn();
  expect(groups.map(({ length }) => length)).toEqual([3]);
  add(40);
  expect(groups.map(({ length }) => length)).toEqual([3, 16, 16]);
  await nextTurn();
  expect(groups.map(({ length }) => length)).toEqual([3, 16, 16, 8]);
});

test('each promise gets the reply of its own write, in whatever order they come', async () => {
  const { groups, pending, add } = collect();
  const writes = add(20);
  await nextTurn();
  const ids = groups.flat().map(({ id }) => id);
  pending.settle(ids.toReversed().map((id) => ({ id, ok: true, value: id })));
  expect(await Promise.all(writes)).toEqual(ids);
  expect(pending.isIdle).toBe(true);
});

test('when what was sent is lost, what was only collected is still sent, and nothing is waited for afterwards', async () => {
  const { groups, pending, add } = collect();
  const lost = Promise.allSettled(add(16));
  const [kept] = add(1);
  pending.fail(new StoreError('outcome_unknown', 'The thread ended.'));
  expect((await lost).map(({ status }) => status)).toEqual(Array(16).fill('rejected'));
  await nextTurn();
  pending.settle([{ id: groups[1]?.[0]?.id ?? 0, ok: true, value: 'kept' }]);
  expect(await kept).toBe('kept');
  expect(pending.isIdle).toBe(true);
  await pending.close();
});

test('after failures, however many, one write a second finds out whether the database takes writes again', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { groups, pending, add } = collect();
  const answer = (reply: { ok: false; reason: 'full'; message: '' } | { ok: true; value: null }) =>
    pending.settle(groups.splice(0).flatMap((some) => some.map(({ id }) => ({ id, ...reply }))));
  const failed = { ok: false, reason: 'full', message: '' } as const;
  const writes = Promise.allSettled(add(16));
  answer(failed);
  await writes;
  for (const reply of [failed, { ok: true, value: null } as const, failed]) {
    expect(pending.isHealthy).toBe(false);
    vi.advanceTimersByTime(1_000);
    await nextTurn();
    expect(groups.flat().map(({ name }) => name)).toEqual(['probe']);
    answer(reply);
    if (!reply.ok) continue;
    expect(pending.isHealthy).toBe(true);
    const last = Promise.allSettled(add(16));
    answer(failed);
    await last;
  }
  await pending.close();
  expect(vi.getTimerCount()).toBe(0);
});

const path = useDatabasePath();

test('a store that was opened takes writes at once: its thread has started', async () => {
  let isReady = false;
  const onWorker = (worker: Worker) =>
    worker.on('message', (message) => {
      isReady ||= message === 'ready';
    });
  process.on('worker', onWorker);
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  process.off('worker', onWorker);
  expect(isReady).toBe(true);
  await store.close();
});

test('a thread that can not open the database rejects what waits for it, and the next write tries again', async () => {
  const file = `${path()}/not-a-directory/x.db`;
  const writer = new ThreadWriter({ path: file, publicUrl: PUBLIC_URL, busyTimeoutMs: 50 });
  for (let attempt = 0; attempt < 2; attempt += 1) {
    await expect(writer.submit('setLinkActive', 'x', false)).rejects.toMatchObject({
      name: 'StoreError',
      reason: 'unavailable',
      message: expect.stringContaining(`The database ${file} can not be opened`),
    });
  }
  await writer.close();
});

test('when the thread dies, the outcome of what was posted to it is unknown, and the next write succeeds', async () => {
  const threads: Worker[] = [];
  const onWorker = (worker: Worker) => threads.push(worker);
  process.on('worker', onWorker);
  const store = await openSqliteStore({
    path: path(),
    publicUrl: PUBLIC_URL,
    busyTimeoutMs: 5_000,
  });
  const caller = await newCaller(store);
  const create = () => store.createLink({ caller, input: newLink(), now: NOW });
  // The thread waits for the lock with the create in its hands.
  const holder = new Database({ path: path() });
  holder.exec('BEGIN IMMEDIATE');
  const outcome = create().catch((error: unknown) => error);
  await new Promise((resolve) => setTimeout(resolve, 50));
  await threads[0]?.terminate();
  expect(await outcome).toMatchObject({ name: 'StoreError', reason: 'outcome_unknown' });
  holder.exec('COMMIT');
  holder.close();
  expect(await create()).toMatchObject({ ok: true });
  expect(threads).toHaveLength(2);
  process.off('worker', onWorker);
  await store.close();
});

test('the event loop stays free while a job of 10,000 links runs', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  const jobId = await newJob(store, caller, 10_000);
  const before = performance.eventLoopUtilization();
  let done = false;
  while (!done) ({ done } = await store.runJobChunk(jobId, NOW));
  const { utilization } = performance.eventLoopUtilization(before);
  // On the thread that asks, the inserts alone would keep it busy all the time.
  expect(utilization).toBeLessThan(0.5);
  await store.close();
});

test('creates that come while a job runs are answered between its chunks', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  const jobId = await newJob(store, caller, 10_000);
  let processed = 0;
  const job = (async () => {
    let done = false;
    while (!done) ({ processed, done } = await store.runJobChunk(jobId, NOW));
  })();
  await store.createLink({ caller, input: newLink(), now: NOW });
  expect(processed).toBeLessThan(10_000);
  await job;
  await store.close();
});

test('clicks that come while an accepted job runs at once end its transaction', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  const input = toJobInput(newLinks(10_000));
  let isAccepted = false;
  const accepted = store.createJob({ caller, input, now: NOW, runNow: true }).finally(() => {
    isAccepted = true;
  });
  while (!isAccepted) await store.addClicks(new Map([['x', 1]]));
  const outcome = await accepted;
  expect(outcome.ok && outcome.value.processed).toBeLessThan(10_000);
  await store.close();
});

test('the links of a job pass to the writer without a copy, which would be garbage on the thread that redirects', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  const input = toJobInput(newLinks(1_001));
  expect(await store.createJob({ caller, input, now: NOW })).toMatchObject({ ok: true });
  expect(input.chunks.map(({ buffer }) => buffer.detached)).toEqual([true, true, true]);
  await store.close();
});

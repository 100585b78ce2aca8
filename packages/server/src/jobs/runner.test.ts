import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { JobRunner } from './runner.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/**
 * Jobs as a number of chunks that are left, and a record of the chunks that were asked for. Two are in hand at a time, so a job
 * may be asked for one more than it has.
 */
function setUp(jobs: Record<string, number>) {
  const left = new Map(Object.entries(jobs));
  const ran: string[] = [];
  const logged: object[] = [];
  const store = {
    pendingJobs: async () => [...left].filter(([, chunks]) => chunks > 0).map(([id]) => id),
    runJobChunk: async (jobId: string) => {
      ran.push(jobId);
      const chunks = (left.get(jobId) ?? 1) - 1;
      left.set(jobId, chunks);
      return { created: 1, processed: 1, done: chunks <= 0 };
    },
  };
  const logger = {
    error: (fields: object) => logged.push(fields),
    info: (fields: object) => logged.push(fields),
  };
  return { left, ran, logged, store, runner: new JobRunner({ store, logger, now: () => 42 }) };
}

test('it takes up the unfinished jobs of an earlier run: every second chunk is of the oldest, the others are in turns', async () => {
  const { runner, ran, left } = setUp({ big: 40, middle: 2, small: 1 });
  await runner.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(ran.slice(3, 9)).toEqual(['big', 'middle', 'big', 'small', 'big', 'middle']);
  expect([...left.values()].every((chunks) => chunks <= 0)).toBe(true);
  await runner.stop();
});

test('of jobs of one size, the oldest ends first by far', async () => {
  const { runner, ran } = setUp({ b: 20, c: 20, a: 20 });
  await runner.start();
  await vi.advanceTimersByTimeAsync(0);
  const [a = 0, b = 0, c = 0] = ['a', 'b', 'c'].map((id) => ran.lastIndexOf(id));
  expect(b - a).toBeGreaterThan(10);
  expect(c).toBeGreaterThan(b);
  await runner.stop();
});

test('jobs count as pending from when they are accepted until their last chunk, without another look at the store', async () => {
  const { runner, left, store } = setUp({ old: 3 });
  await runner.start();
  expect(runner.pendingJobs).toBe(1);
  left.set('new', 1);
  runner.notify('new');
  runner.notify('new');
  expect(runner.pendingJobs).toBe(2);
  store.pendingJobs = () => Promise.reject(new Error('no look'));
  await vi.advanceTimersByTimeAsync(0);
  expect(left.get('old')).toBeLessThanOrEqual(0);
  expect(runner.pendingJobs).toBe(0);
  await runner.stop();
});

test('it runs a job that it is notified of once, however often it is notified', async () => {
  const { runner, ran, left } = setUp({});
  left.set('new', 2);
  runner.notify('new');
  runner.notify('new');
  await vi.advanceTimersByTimeAsync(0);
  expect(ran).toEqual(['new', 'new']);
  runner.notify('new');
  await vi.advanceTimersByTimeAsync(0);
  expect(ran).toEqual(['new', 'new', 'new', 'new']);
});

test('a chunk that fails is tried again, later each time, and holds up no other job', async () => {
  const { runner, ran, logged, store } = setUp({ bad: 1, good: 3 });
  const { runJobChunk } = store;
  let failing = true;
  store.runJobChunk = async (jobId) => {
    if (jobId !== 'bad' || !failing) return runJobChunk(jobId);
    ran.push('bad fails');
    throw new Error('disk full');
  };
  await runner.start();
  await vi.advanceTimersByTimeAsync(0);
  expect(ran.filter((job) => job === 'bad fails')).toHaveLength(2);
  expect(ran.slice(-3)).toEqual(['good', 'good', 'good']);
  expect(logged).toMatchObject([{ jobId: 'bad', failures: 1, retryMs: 200 }]);

  ran.length = 0;
  await vi.advanceTimersByTimeAsync(199);
  expect(ran).toEqual([]);
  await vi.advanceTimersByTimeAsync(1);
  expect(ran).toEqual(['bad fails', 'bad fails']);
  ran.length = 0;
  await vi.advanceTimersByTimeAsync(400 + 800 + 1_600);
  expect(ran).toHaveLength(6);
  // The wait grows to 30 s, and one line a minute is logged.
  await vi.advanceTimersByTimeAsync(600_000);
  ran.length = 0;
  await vi.advanceTimersByTimeAsync(300_000);
  expect(ran).toHaveLength(20);
  expect(logged.length).toBeLessThanOrEqual(16);
  expect(logged.at(-1)).toMatchObject({ jobId: 'bad', retryMs: 30_000 });

  failing = false;
  ran.length = 0;
  await vi.advanceTimersByTimeAsync(600_000);
  expect(ran).toEqual(['bad', 'bad']);
  await runner.stop();
});

test('a job whose one chunk failed while its other one ended it is not asked for again', async () => {
  const { runner, ran, store } = setUp({ a: 1 });
  const { runJobChunk } = store;
  store.runJobChunk = vi.fn(runJobChunk).mockRejectedValueOnce(new Error('lost'));
  await runner.start();
  await vi.advanceTimersByTimeAsync(900);
  expect(store.runJobChunk).toHaveBeenCalledTimes(2);
  expect(ran).toEqual(['a']);
  await runner.stop();
});

test('a failure is forgotten after a success, and one line a minute is logged', async () => {
  const { runner, logged, ran, store } = setUp({ job: 400 });
  const { runJobChunk } = store;
  let calls = 0;
  store.runJobChunk = (jobId) => {
    calls += 1;
    return calls % 2 === 1 ? Promise.reject(new Error('now and then')) : runJobChunk(jobId);
  };
  await runner.start();
  await vi.advanceTimersByTimeAsync(60_000);
  // Each failure is the first in a row: the wait is never more than the first one.
  expect(ran.length).toBeGreaterThan(200);
  await runner.stop();
  expect(logged.length).toBeLessThanOrEqual(2);
});

test('a job that another instance runs is left to it, and looked at again a second later', async () => {
  const { runner, ran, left, store } = setUp({ theirs: 3 });
  const { runJobChunk } = store;
  let busy = true;
  let asked = 0;
  store.runJobChunk = async (jobId) => {
    asked += 1;
    if (busy) return { created: 0, processed: 0, done: false, busy };
    return runJobChunk(jobId);
  };
  await runner.start();
  await vi.advanceTimersByTimeAsync(999);
  const askedAtFirst = asked;
  expect(askedAtFirst).toBeLessThanOrEqual(2);
  busy = false;
  await vi.advanceTimersByTimeAsync(1);
  expect(ran.length).toBeGreaterThanOrEqual(3);
  expect(left.get('theirs')).toBeLessThanOrEqual(0);
  await runner.stop();
});

test('a job that failed here and that another instance takes over is forgotten', async () => {
  const { runner, logged, store } = setUp({ theirs: 1 });
  let calls = 0;
  store.runJobChunk = async () => {
    calls += 1;
    if (calls <= 2) throw new Error('disk full');
    return { created: 0, processed: 0, done: false, busy: true };
  };
  await runner.start();
  await vi.advanceTimersByTimeAsync(200);
  expect(logged).toMatchObject([{ jobId: 'theirs', failures: 1 }, { not_logged: 0 }]);
  await runner.stop();
});

test('stop waits for the chunks that run and starts no other', async () => {
  const { runner, ran, store } = setUp({ job: 9 });
  const { runJobChunk } = store;
  const finish: (() => void)[] = [];
  store.runJobChunk = async (jobId) => {
    await new Promise<void>((resolve) => finish.push(resolve));
    return runJobChunk(jobId);
  };
  await runner.start();
  let stopped = false;
  const stopping = runner.stop().then(() => {
    stopped = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  finish[0]?.();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(stopped).toBe(false);
  finish[1]?.();
  await stopping;
  expect(ran).toEqual(['job', 'job']);
  runner.notify('late');
  await vi.advanceTimersByTimeAsync(120_000);
  expect(ran).toEqual(['job', 'job']);
});

test('a chunk that fails while the runner stops is not tried again by it', async () => {
  const { runner, store } = setUp({ job: 9 });
  const { promise, reject } = Promise.withResolvers<never>();
  store.runJobChunk = () => promise;
  await runner.start();
  const stopping = runner.stop();
  reject(new Error('no disk'));
  await stopping;
  expect(vi.getTimerCount()).toBe(0);
});

test('a job that it was not notified of is found within a second', async () => {
  const { runner, ran, left, store, logged } = setUp({});
  await runner.start();
  left.set('lost', 1);
  const { pendingJobs } = store;
  store.pendingJobs = () => Promise.reject(new Error('busy'));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(logged).toHaveLength(1);
  store.pendingJobs = pendingJobs;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ran).toEqual(['lost', 'lost']);
  expect(logged).toHaveLength(2);
  await runner.stop();
});

test('the number of jobs that wait is that of the last look, also where the clock is set back', async () => {
  const { runner, store } = setUp({});
  store.pendingJobs = async () => ['one', 'two'];
  store.runJobChunk = () => new Promise(() => {});
  await runner.start();
  expect(runner.pendingJobs).toBe(2);
  store.pendingJobs = async () => ['two'];
  vi.setSystemTime(Date.now() - 365 * 86_400_000);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(runner.pendingJobs).toBe(1);
});

test('a store that hangs is asked once, not every second', async () => {
  const { runner, store } = setUp({});
  await runner.start();
  let asked = 0;
  let respond: (jobs: string[]) => void = () => undefined;
  store.pendingJobs = () => {
    asked += 1;
    return new Promise((resolve) => {
      respond = resolve;
    });
  };
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toBe(1);
  respond([]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(asked).toBe(2);
  respond([]);
  await runner.stop();
});

test('start rejects when the store can not be read', async () => {
  const { runner, store } = setUp({});
  store.pendingJobs = () => Promise.reject(new Error('no database'));
  await expect(runner.start()).rejects.toThrow('no database');
});

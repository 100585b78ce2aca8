import { expect, test } from 'vitest';
import type { JobQueue, JobWork } from '../store/store.ts';
import { QueuedJobRunner } from './queued-job-runner.ts';

/** A queue that a test hands jobs out of, and a store whose jobs have `chunks` chunks each. */
function setUp(chunks: number) {
  let work: JobWork | undefined;
  let onError: (error: unknown) => void = () => undefined;
  const clock = { now: 0 };
  const stopping = new AbortController();
  const queue: JobQueue = {
    work: async (run, tell) => {
      work = run;
      onError = tell;
    },
    stop: async () => stopping.abort(),
  };
  const progress = new Map<string, number>();
  const store = {
    runJobChunk: async (jobId: string) => {
      const processed = (progress.get(jobId) ?? 0) + 1;
      progress.set(jobId, processed);
      return { created: 500, processed, done: processed >= chunks };
    },
  };
  const errors: unknown[] = [];
  let created = 0;
  const onLinksCreated = (links: number) => {
    created += links;
  };
  const logger = { error: (entry: unknown) => errors.push(entry) };
  return {
    runner: new QueuedJobRunner({ store, queue, logger, onLinksCreated, now: () => clock.now }),
    created: () => created,
    clock,
    fail: (error: Error) => onError(error),
    store,
    progress,
    errors,
    handOut: async (jobId: string, signal = stopping.signal) => work?.(jobId, signal),
  };
}

test('a job is run to its last chunk, and its links are told', async () => {
  const { runner, handOut, progress, created } = setUp(3);
  await runner.start();
  await handOut('a');
  expect(progress.get('a')).toBe(3);
  expect(created()).toBe(1_500);
});

test('a job whose claim is lost is handed back after the chunk that runs, and that is no error', async () => {
  const { runner, handOut, progress, store, errors } = setUp(1_000);
  const claim = new AbortController();
  const { runJobChunk } = store;
  store.runJobChunk = async (jobId) => {
    if (progress.get(jobId) === 4) claim.abort(new Error('taken over'));
    return runJobChunk(jobId);
  };
  await runner.start();
  await expect(handOut('a', claim.signal)).rejects.toThrow('taken over');
  expect(progress.get('a')).toBe(5);
  expect(errors).toEqual([]);
});

test('stopping hands running jobs back', async () => {
  const { runner, handOut, progress } = setUp(1_000);
  await runner.start();
  const running = handOut('a');
  await runner.stop();
  await expect(running).rejects.toMatchObject({ name: 'AbortError' });
  expect(progress.get('a')).toBeLessThan(1_000);
});

test('a chunk that fails hands the job back, and is logged with it', async () => {
  const { runner, handOut, store, errors } = setUp(3);
  const down = new Error('down');
  store.runJobChunk = () => Promise.reject(down);
  await runner.start();
  await expect(handOut('a')).rejects.toThrow('down');
  expect(errors).toEqual([{ err: down, jobId: 'a' }]);
});

test('a queue that fails all the time is logged every ten seconds', async () => {
  const { runner, fail, clock, errors } = setUp(1);
  await runner.start();
  for (; clock.now < 20_000; clock.now += 500) fail(new Error(`at ${clock.now}`));
  expect(errors).toMatchObject([{ err: { message: 'at 0' } }, { err: { message: 'at 10000' } }]);
});

import process from 'node:process';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { housekeeping, PRUNE_INTERVAL_MS, repeated } from './repeated.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('it prunes at the start and then every hour, also after a failure', async () => {
  const pruned: number[] = [];
  const logged: object[] = [];
  const store = {
    prune: async (now: number) => {
      pruned.push(now);
      if (pruned.length === 2) throw new Error('busy');
    },
  };
  const logger = { error: (fields: object) => logged.push(fields), info: () => {} };
  const pruning = housekeeping(store, logger, () => 42);
  pruning.start();
  expect(pruned).toEqual([42]);
  await vi.advanceTimersByTimeAsync(PRUNE_INTERVAL_MS);
  expect(pruned).toHaveLength(2);
  expect(logged).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(PRUNE_INTERVAL_MS);
  expect(pruned).toHaveLength(3);
  await pruning.stop();
  await vi.advanceTimersByTimeAsync(PRUNE_INTERVAL_MS);
  expect(pruned).toHaveLength(3);
});

test('a run that takes longer than the interval is not doubled, and stop waits for it', async () => {
  let finish = () => {};
  let runs = 0;
  const store = {
    prune: () => {
      runs += 1;
      return new Promise<void>((resolve) => {
        finish = resolve;
      });
    },
  };
  const pruning = housekeeping(store);
  pruning.start();
  await vi.advanceTimersByTimeAsync(3 * PRUNE_INTERVAL_MS);
  expect(runs).toBe(1);
  let stopped = false;
  const stopping = pruning.stop().then(() => {
    stopped = true;
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(stopped).toBe(false);
  finish();
  await stopping;
  expect(vi.getTimerCount()).toBe(0);
});

test('stop ends a run after its present step, so that no service manager has to kill the process', async () => {
  let steps = 0;
  const store = {
    prune: async (_: number, signal?: AbortSignal) => {
      while (signal?.aborted !== true) {
        await new Promise((resolve) => setTimeout(resolve, 100));
        steps += 1;
      }
    },
  };
  const pruning = housekeeping(store);
  pruning.start();
  await vi.advanceTimersByTimeAsync(250);
  const stopped = pruning.stop();
  await vi.advanceTimersByTimeAsync(50);
  await stopped;
  expect(steps).toBe(3);
});

test('the wait for the next call keeps no process alive', async () => {
  vi.useRealTimers();
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const before = timers();
  const act = () => Promise.resolve();
  const { startLater, stop } = repeated({ act, everyMs: 60_000, what: 'x', logger: undefined });
  startLater();
  expect(timers()).toBe(before);
  await stop();
});

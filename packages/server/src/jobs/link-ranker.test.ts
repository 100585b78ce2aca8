import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { LinkRanker, RANK_INTERVAL_MS, RANKED_TOGETHER } from './link-ranker.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A ranker and the groups of codes that reached the store. */
function open() {
  const groups: (readonly string[])[] = [];
  let failure: Error | undefined;
  const logger = { error: vi.fn(), info: vi.fn() };
  let onFailure = () => {};
  const rankLinks = async (codes: readonly string[]) => {
    if (failure !== undefined) {
      onFailure();
      throw failure;
    }
    groups.push(codes);
  };
  const ranker = new LinkRanker({ store: { rankLinks }, logger });
  const fail = (error: Error | undefined, listener: () => void = () => {}) => {
    failure = error;
    onFailure = listener;
  };
  return { ranker, groups, fail, logger };
}

const codes = (count: number) => Array.from({ length: count }, (_, n) => `code${n}`);

test('a link is ranked once a turn, however often it was clicked, and never without a click', async () => {
  const { ranker, groups } = open();
  ranker.start();
  await vi.advanceTimersByTimeAsync(RANK_INTERVAL_MS);
  expect(groups).toEqual([]);
  for (let n = 0; n < 5; n += 1) ranker.add(['a', 'b']);
  await vi.advanceTimersByTimeAsync(RANK_INTERVAL_MS - 1 - RANK_INTERVAL_MS / 2);
  expect(groups).toEqual([]);
  await vi.advanceTimersByTimeAsync(RANK_INTERVAL_MS);
  expect(groups).toEqual([['a', 'b']]);
  await vi.advanceTimersByTimeAsync(5 * RANK_INTERVAL_MS);
  expect(groups).toHaveLength(1);
  await ranker.stop();
});

test('many links take turns, and none is left out', async () => {
  const { ranker, groups } = open();
  const all = codes(2 * RANKED_TOGETHER + 1);
  ranker.add(all);
  ranker.start();
  await vi.advanceTimersByTimeAsync(RANK_INTERVAL_MS);
  expect(groups.map((group) => group.length)).toEqual([RANKED_TOGETHER]);
  await vi.advanceTimersByTimeAsync(2 * RANK_INTERVAL_MS);
  expect(groups.flat()).toEqual(all);
  await ranker.stop();
});

test('links of a turn that failed are ranked later, and the outage is logged once', async () => {
  const { ranker, groups, fail, logger } = open();
  ranker.add(['a']);
  ranker.start();
  fail(new Error('away'));
  await vi.advanceTimersByTimeAsync(3 * RANK_INTERVAL_MS);
  expect(logger.error).toHaveBeenCalledTimes(1);
  fail(undefined);
  await vi.advanceTimersByTimeAsync(RANK_INTERVAL_MS);
  expect(groups).toEqual([['a']]);
  expect(logger.info).toHaveBeenCalledTimes(1);
  await ranker.stop();
});

test('what waits is ranked before the end, also when the database is away', async () => {
  const { ranker, groups, fail } = open();
  ranker.add(codes(RANKED_TOGETHER + 1));
  await ranker.stop();
  expect(groups.flat()).toHaveLength(RANKED_TOGETHER + 1);
  let tries = 0;
  fail(new Error('away'), () => tries++);
  ranker.add(['late']);
  await ranker.stop();
  expect(groups).toHaveLength(2);
  // Each try may take seconds, and the process has to end.
  expect(tries).toBe(1);
});

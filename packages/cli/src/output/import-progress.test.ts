import { expect, test } from 'vitest';
import type { ImportEvent } from '../import/types.ts';
import { ImportProgress } from './import-progress.ts';

function progress(requestsPerMinute?: number) {
  let requests = 0;
  const shown = new ImportProgress({
    file: 'links.csv',
    requestsPerMinute,
    requestCount: () => requests,
  });
  return {
    shown,
    request: (count: number) => {
      requests += count;
    },
  };
}

const rowsDone = (done: number, total: number) =>
  ({ type: 'rows-done', done, total, created: done, failed: 0, unknown: 0 }) as const;

const validated = (rows: number) =>
  ({ type: 'validated', rows, rejected: 0, firstRejects: [] }) satisfies ImportEvent;

test('checking: rows, and how much of the file where its size is known', () => {
  const { shown } = progress();
  expect(shown.line(0)).toBe('Checking links.csv');
  shown.onEvent({ type: 'validating', rows: 50_000, bytesRead: 10, bytesTotal: 40 }, 0);
  expect(shown.line(0)).toBe('Checking links.csv: 50,000 rows (25%)');
});

test('sending: bar, rows, rate and time left', () => {
  const { shown } = progress();
  shown.onEvent(validated(1_000), 0);
  expect(shown.line(0)).toBe('░░░░░░░░░░░░░░░░░░░░ 0%, 0 of 1,000 rows');
  shown.onEvent(rowsDone(250, 1_000), 1_000);
  expect(shown.line(1_000)).toBe(
    '█████░░░░░░░░░░░░░░░ 25%, 250 of 1,000 rows, 250 rows/s, ETA 0:03',
  );
  shown.onEvent(rowsDone(1_000, 1_000), 4_000);
  expect(shown.line(4_000)).toBe('████████████████████ 100%, 1,000 of 1,000 rows, 250 rows/s');
});

test('the job in flight moves the bar, and is named', () => {
  const { shown } = progress();
  shown.onEvent(validated(2_000), 0);
  shown.onEvent({ type: 'batch-accepted', first: 0, count: 1_000, jobId: 'a' }, 0);
  shown.onEvent({ type: 'job-progress', jobId: 'a', processed: 500, total: 1_000 }, 0);
  expect(shown.line(1_000)).toBe(
    '█████░░░░░░░░░░░░░░░ 25%, 500 of 2,000 rows, 500 rows/s, ETA 0:03, job 500 of 1,000',
  );
  // Its rows are counted once.
  shown.onEvent(rowsDone(400, 2_000), 1_000);
  expect(shown.line(1_000)).toContain('500 of 2,000 rows');
  shown.onEvent(rowsDone(1_000, 2_000), 2_000);
  expect(shown.line(2_000)).toBe(
    '██████████░░░░░░░░░░ 50%, 1,000 of 2,000 rows, 500 rows/s, ETA 0:02',
  );
});

test('what an earlier run did says nothing about the speed of this one', () => {
  const { shown } = progress();
  shown.onEvent(validated(1_000), 0);
  const found = { existing: 900, changed: 0, changedLines: [], gone: 0 };
  shown.onEvent({ type: 'compared', rows: 1_000, new: 100, ...found }, 0);
  expect(shown.line(0)).toContain('0 of 100 rows');
  shown.onEvent(rowsDone(10, 100), 1_000);
  expect(shown.line(1_000)).toContain('10 rows/s, ETA 0:09');
});

test('the time left is never less than the requests take at the pace of --rpm', () => {
  const { shown, request } = progress(60);
  shown.onEvent(validated(100_000), 0);
  request(2);
  // Two requests for 10,000 rows in half a second: the next 18 take 18 s at 60 a minute, whatever the rate says.
  shown.onEvent(rowsDone(10_000, 100_000), 500);
  expect(shown.line(500)).toContain('ETA 0:18');
});

test('waits are counted down and disappear', () => {
  const { shown } = progress();
  shown.onEvent(validated(10), 0);
  shown.onWait('waiting for the rate limit:', 32_000, 0);
  expect(shown.line(0)).toContain('waiting for the rate limit: 0:32');
  expect(shown.line(31_001)).toContain('waiting for the rate limit: 0:01');
  expect(shown.line(32_000)).not.toContain('waiting');
  // The longer of two waits is shown.
  shown.onWait('waiting for the rate limit:', 30_000, 40_000);
  shown.onWait('trying again in', 1_000, 40_000);
  expect(shown.line(40_000)).toContain('waiting for the rate limit: 0:30');
});

test('after Ctrl-C it says so', () => {
  const { shown } = progress();
  shown.onEvent(validated(10), 0);
  shown.onStopping();
  expect(shown.line(0)).toContain('stopping after the batches in flight');
});

test('the time left is that of the windows of the quota, where it is what takes the time', () => {
  const { shown, request } = progress();
  shown.onEvent(validated(100_000), 0);
  request(10);
  const minute = { name: 'minute', quota: 60, windowMs: 60_000 };
  shown.onQuota([{ ...minute, remaining: 50, resetMs: 30_000 }], 1_000);
  shown.onQuota([], 1_000);
  shown.onEvent(rowsDone(5_000, 100_000), 1_000);
  // 190 requests more: 50 now, 60 in each of the next two minutes, and the rest in the one after them.
  expect(shown.line(1_000)).toContain('ETA 2:30');
  expect(shown.line(11_000)).toContain('ETA 2:20');
  shown.onQuota([{ ...minute, remaining: 500, resetMs: 30_000 }], 1_000);
  expect(shown.line(1_000)).toContain('ETA 0:19');
});

import { expect, test } from 'vitest';
import { ImportProgress } from './import-progress.ts';
import { fitStatus } from './status-line.ts';

/** The columns that a terminal of 80 leaves for the text. */
const WIDTH = 77;

function progress(requestsPerMinute?: number) {
  let requests = 0;
  const shown = new ImportProgress({
    file: 'links.csv',
    requestsPerMinute,
    requestCount: () => requests,
  });
  return {
    shown,
    line: (now: number, width = WIDTH) => fitStatus(shown.status(now), width),
    plain: (now: number) =>
      shown
        .status(now)
        .parts.map(([text]) => text)
        .join(', '),
    request: (count: number) => {
      requests += count;
    },
  };
}

const rowsDone = (done: number) => ({ type: 'rows-done', done }) as const;

const sending = (links: number, existing = 0) => ({ type: 'sending', existing, links }) as const;

test('checking: rows, and how much of the file where its size is known', () => {
  const { shown, line, plain } = progress();
  expect(line(0)).toBe('Checking links.csv');
  shown.onEvent({ type: 'validating', rows: 50_000, bytesRead: 10, bytesTotal: 40 }, 0);
  expect(line(0)).toBe('Checking links.csv   50,000 rows   25%');
  expect(plain(0)).toBe('Checking links.csv, 50,000 rows, 25%');
});

test('sending: bar, rows, rate and time left', () => {
  const { shown, line, plain } = progress();
  shown.onEvent(sending(1_000), 0);
  expect(line(0)).toBe('░░░░░░░░░░░░░░░░░░░░   0%   0 / 1,000 rows');
  shown.onEvent(rowsDone(250), 1_000);
  expect(line(1_000)).toBe('█████░░░░░░░░░░░░░░░  25%   250 / 1,000 rows   250/s   0:03 left');
  expect(plain(1_000)).toBe('250 / 1,000 rows, 250/s, 0:03 left');
  shown.onEvent(rowsDone(1_000), 4_000);
  expect(line(4_000)).toBe('████████████████████ 100%   1,000 / 1,000 rows   250/s');
});

test('the job in flight moves the bar, and is named', () => {
  const { shown, line } = progress();
  shown.onEvent(sending(2_000), 0);
  shown.onEvent({ type: 'batch-accepted', first: 0, count: 1_000, jobId: 'a' }, 0);
  shown.onEvent({ type: 'job-progress', jobId: 'a', processed: 500, total: 1_000 }, 0);
  expect(line(1_000, 120)).toBe(
    '█████░░░░░░░░░░░░░░░  25%   500 / 2,000 rows   500/s   job 500 / 1,000   0:03 left',
  );
  // Its rows are counted once.
  shown.onEvent(rowsDone(400), 1_000);
  expect(line(1_000)).toContain('500 / 2,000');
  shown.onEvent(rowsDone(1_000), 2_000);
  expect(line(2_000, 120)).toBe(
    '██████████░░░░░░░░░░  50%   1,000 / 2,000 rows   500/s   0:02 left',
  );
});

test('standard input has a name', () => {
  const options = { file: '-', requestsPerMinute: undefined, requestCount: () => 0 };
  expect(new ImportProgress(options).status(0).parts).toEqual([['Checking standard input', 2]]);
});

test('a resumed import begins where the earlier run ended, and the speed is that of this run', () => {
  const { shown, line } = progress();
  const found = { existing: 900, changed: 0, changedLines: [], gone: 0, goneLinks: [] };
  const plan = { format: 'csv', encoding: 'utf-8', delimiter: ',' } as const;
  const checked = { ...plan, columns: [], hasHeader: true, mapping: {}, notes: [] };
  shown.onEvent(
    { type: 'validated', plan: checked, rows: 1_000, rejected: 0, firstRejects: [] },
    0,
  );
  shown.onEvent({ type: 'compared', new: 100, ...found }, 0);
  expect(line(0)).toContain('90%   900 / 1,000 rows');
  shown.onEvent(sending(100, 900), 0);
  expect(line(0)).toContain('90%   900 / 1,000 rows');
  shown.onEvent(rowsDone(10), 1_000);
  expect(line(1_000)).toContain('91%   910 / 1,000 rows   10/s   0:09 left');
});

test('a further round counts from its own beginning, without the jobs and requests of the one before', () => {
  const { shown, line, request } = progress(60);
  shown.onEvent(sending(1_000), 0);
  request(100);
  shown.onEvent({ type: 'batch-accepted', first: 0, count: 600, jobId: 'a' }, 0);
  shown.onEvent(rowsDone(500), 10_000);
  shown.onEvent(sending(500, 500), 20_000);
  expect(line(20_000)).toBe('██████████░░░░░░░░░░  50%   500 / 1,000 rows');
  request(1);
  shown.onEvent(rowsDone(250), 21_000);
  expect(line(21_000)).toBe('███████████████░░░░░  75%   750 / 1,000 rows   250/s   0:01 left');
});

test('the time left is never less than the requests take at the pace of --rpm', () => {
  const { shown, line, request } = progress(60);
  shown.onEvent(sending(100_000), 0);
  request(2);
  // Two requests for 10,000 rows in half a second: the next 18 take 18 s at 60 a minute, whatever the rate says.
  shown.onEvent(rowsDone(10_000), 500);
  expect(line(500)).toContain('0:18 left');
});

test('waits are counted down and disappear', () => {
  const { shown, line, plain } = progress();
  shown.onEvent(sending(10), 0);
  shown.onWait({ ms: 32_000 }, 0);
  expect(line(0)).toContain('rate limit: next in 0:32');
  expect(plain(0)).toBe('0 / 10 rows, rate limit: next in 0:32');
  expect(line(31_001)).toContain('rate limit: next in 0:01');
  expect(line(32_000)).not.toContain('limit');
  // The longer of two waits is shown.
  shown.onWait({ ms: 30_000 }, 40_000);
  shown.onWait({ ms: 1_000, error: 'no response' }, 40_000);
  expect(line(40_000)).toContain('rate limit: next in 0:30');
  shown.onWait({ ms: 35_000, error: 'no response' }, 40_000);
  expect(line(40_000)).toContain('trying again in 0:35   no response');
  // What is left takes at least as long as the wait.
  shown.onEvent(rowsDone(9), 40_000);
  expect(line(40_000, 120)).toContain('trying again in 0:35   0:35 left');
});

test('a narrow terminal loses what matters least, and never a part of a word', () => {
  const { shown, line, request, plain } = progress();
  shown.onEvent(sending(2_000), 0);
  request(5);
  shown.onEvent(rowsDone(500), 10_000);
  const minute = { name: 'minute', quota: 5, windowMs: 60_000, remaining: 0, resetMs: 37_000 };
  shown.onQuota([minute], 10_000);
  shown.onWait({ ms: 37_000 }, 10_000);
  expect(line(10_000, 117)).toBe(
    '█████░░░░░░░░░░░░░░░  25%   500 / 2,000 rows   50/s   rate limit: next in 0:37   2:37 left',
  );
  expect(line(10_000)).toBe(
    '███░░░░░░░░░░░  25%   500 / 2,000 rows   rate limit: next in 0:37   2:37 left',
  );
  expect(line(10_000, 50)).toBe('█░░░░░  25%   rate limit: next in 0:37   2:37 left');
  expect(line(10_000, 37)).toBe('█░░░░  25%   rate limit: next in 0:37');
  expect(line(10_000, 20)).toBe('███░░░░░░░░░░░░  25%');
  expect(plain(10_000)).toBe('500 / 2,000 rows, 50/s, rate limit: next in 0:37, 2:37 left');
});

test('after Ctrl-C it says so', () => {
  const { shown, line, plain } = progress();
  shown.onEvent(sending(10), 0);
  shown.onStopping();
  expect(line(0)).toContain('stopping');
  expect(plain(0)).toContain('stopping');
});

test('the time left is that of the windows of the quota, where it is what takes the time', () => {
  const { shown, line, request } = progress();
  shown.onEvent(sending(100_000), 0);
  request(10);
  const minute = { name: 'minute', quota: 60, windowMs: 60_000 };
  shown.onQuota([{ ...minute, remaining: 50, resetMs: 30_000 }], 1_000);
  shown.onQuota([], 1_000);
  shown.onEvent(rowsDone(5_000), 1_000);
  // 190 requests more: 50 now, 60 in each of the next two minutes, and the rest in the one after them.
  expect(line(1_000)).toContain('2:30 left');
  expect(line(11_000)).toContain('2:20 left');
  shown.onQuota([{ ...minute, remaining: 500, resetMs: 30_000 }], 1_000);
  expect(line(1_000)).toContain('0:19 left');
});

test('once all is read, comparing and reporting are named, and so is what Ctrl-C leaves to do', () => {
  const { shown, line } = progress();
  const plan = { format: 'csv', encoding: 'utf-8', delimiter: ',', columns: [] } as const;
  const rows = { rows: 1_000_000, rejected: 0, firstRejects: [] };
  shown.onEvent({ type: 'validating', rows: 950_000, bytesRead: 95, bytesTotal: 100 }, 0);
  shown.onEvent(
    {
      type: 'validated',
      plan: { ...plan, columns: [], hasHeader: true, mapping: {}, notes: [] },
      ...rows,
    },
    0,
  );
  expect(line(0)).toBe('Comparing with the links that exist   1,000,000 rows');
  expect(shown.onStopping()).toBe('Stopping.');
  shown.onEvent(sending(10), 0);
  expect(shown.onStopping()).toBe('Stopping after the batches in flight.');
  shown.onEvent({ type: 'reporting' }, 0);
  expect(line(0)).toContain('Writing the results');
  expect(shown.onStopping()).toBe('The results are still being written.');
});

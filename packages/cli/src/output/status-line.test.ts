import { stripVTControlCharacters } from 'node:util';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { testIo } from '../../test/test-io.ts';
import { Printer } from './printer.ts';
import { openStatusLine, type Status } from './status-line.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test('a log gets a line every few seconds, one a minute while nothing changes, and no bar', async () => {
  const { io, stderr } = testIo();
  const printer = new Printer(io, { json: false, quiet: false, color: undefined });
  const status = await openStatusLine(io, printer);
  const at = (done: number): Status => ({
    fraction: done / 10,
    parts: [],
    plain: [`${done} of 10`, `${Date.now() % 7} s left`],
    json: { task: 'job', name: 'x', done, total: 10, wait_ms: 0, left_ms: null },
  });
  let done = 1;
  status.start(() => at(done));
  expect(stderr()).toBe('');
  const lines = () => stderr().split('\n').length - 1;
  vi.advanceTimersByTime(5_000);
  expect(stderr()).toMatch(/^1 of 10, \d s left\n$/);
  vi.advanceTimersByTime(55_000);
  expect(lines()).toBe(1);
  vi.advanceTimersByTime(5_000);
  expect(lines()).toBe(2);
  done = 2;
  vi.advanceTimersByTime(5_000);
  expect(stderr()).toMatch(/\n2 of 10, \d s left\n$/);
  status.stop();
  vi.advanceTimersByTime(600_000);
  expect(lines()).toBe(3);
});

test('signs that ASCII needs more characters for are replaced before the line is fitted', async () => {
  const { io, stderr } = testIo({ tty: { stderr: true }, env: { LANG: 'C', TERM: 'xterm' } });
  Object.assign(io.stderr, { columns: 40 });
  const printer = new Printer(io, { json: false, quiet: false, color: false });
  const status = await openStatusLine(io, printer);
  const parts = [{ text: '…→'.repeat(15), rank: 0 }];
  const json = { task: 'job', name: 'x', done: 0, total: 1, wait_ms: 0, left_ms: null } as const;
  status.start(() => ({ parts, plain: [], json }));
  status.stop();
  const drawn = stripVTControlCharacters(stderr()).split(/[\r\n]/);
  expect(drawn.join('')).toContain('...->...->');
  expect(Math.max(...drawn.map((line) => line.length))).toBeLessThan(40);
});

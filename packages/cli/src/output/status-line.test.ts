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
    ...{ task: 'job', name: 'x', done, total: 10 },
    parts: [
      [`${done} of 10`, 0],
      [`${Date.now() % 7} s left`, 1],
    ],
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
  vi.advanceTimersByTime(55_000);
  expect(lines()).toBe(3);
  done = 3;
  vi.advanceTimersByTime(5_000);
  expect(lines()).toBe(4);
  // What is started anew takes the place of what was shown.
  status.start(() => at(4));
  vi.advanceTimersByTime(10_000);
  expect(stderr().split('\n').slice(4, -1)).toEqual([expect.stringMatching(/^4 of 10/)]);
  status.stop();
  vi.advanceTimersByTime(600_000);
  expect(lines()).toBe(5);
  expect(vi.getTimerCount()).toBe(0);
});

test('on a terminal, nothing of the line is left once it is stopped', async () => {
  const { io, stderr } = testIo({ tty: { stderr: true }, env: { TERM: 'xterm' } });
  const status = await openStatusLine(io, new Printer(io, { color: false }));
  status.start(() => ({ task: 'job', name: 'x', done: 0, total: null, parts: [['one', 0]] }));
  status.stop();
  const drawn = stderr();
  expect(drawn).toContain('one');
  expect(vi.getTimerCount()).toBe(0);
  vi.advanceTimersByTime(1_000);
  expect(stderr()).toBe(drawn);
});

test('signs that ASCII needs more characters for are replaced before the line is fitted', async () => {
  const { io, stderr } = testIo({ tty: { stderr: true }, env: { LANG: 'C', TERM: 'xterm' } });
  Object.assign(io.stderr, { columns: 40 });
  const printer = new Printer(io, { json: false, quiet: false, color: false });
  const status = await openStatusLine(io, printer);
  const parts = [['…→'.repeat(15), 0]] as const;
  status.start(() => ({ task: 'job', name: 'x', done: 0, total: null, parts }));
  status.stop();
  const drawn = stripVTControlCharacters(stderr()).split(/[\r\n]/);
  expect(drawn.join('')).toContain('...->...->');
  expect(Math.max(...drawn.map((line) => line.length))).toBeLessThan(40);
});

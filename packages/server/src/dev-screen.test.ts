import { expect, test } from 'vitest';
import { readableLogLine } from './dev-screen.ts';

test('a line of the log is made readable, and one of the runtime is shown as it is', () => {
  const line = { level: 'info', time: 0, msg: 'worker serves', worker: 1 };
  expect(readableLogLine(JSON.stringify(line))).toMatch(/ {2}worker serves {2}worker=1\n$/);
  for (const text of ['FATAL ERROR: heap out of memory', '{', '']) {
    expect(readableLogLine(`${text}\n`)).toBe(`${text}\n`);
  }
  expect(readableLogLine('\u001b[2J')).toBe('\\u001b[2J\n');
});

test('a line that a worker could not write to its end is shown as it is', () => {
  const line = '{"level":"info","time":"2026-11-29T10:20:30.000Z","msg":"worker se';
  expect(readableLogLine(line)).toBe(`${line}\n`);
});

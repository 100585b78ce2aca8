import { expect, test } from 'vitest';
import { devScreen, readableLogLine } from './dev-screen.ts';

const readable = (json: string) => readableLogLine(json, process.stderr);

test('a line of the log is made readable, and one of the runtime is shown as it is', () => {
  const line = { level: 'info', time: 0, msg: 'worker serves', worker: 1 };
  expect(readable(JSON.stringify(line))).toMatch(/ {2}worker serves {2}worker=1\n$/);
  for (const text of ['FATAL ERROR: heap out of memory', '{', '']) {
    expect(readable(`${text}\n`)).toBe(`${text}\n`);
  }
  expect(readable('\u001b[2J')).toBe('\\u001b[2J\n');
});

test('a line that a worker could not write to its end is shown as it is', () => {
  const line = '{"level":"info","time":"2026-11-29T10:20:30.000Z","msg":"worker se';
  expect(readable(line)).toBe(`${line}\n`);
});

test('a path in the log that steers a terminal is written with escapes, and a failure has its stack', () => {
  const request = { level: 'info', time: 0, method: 'GET', path: '/\u009b2J', status: 404, ms: 1 };
  expect(readable(JSON.stringify(request))).toContain('GET /\\u009b2J');
  const err = { message: 'no', stack: 'Error: no\n    at \u009b2J (x.ts:1)' };
  const line = readable(JSON.stringify({ level: 'error', time: 0, msg: 'failed', err }));
  expect(line).toContain('failed\n    Error: no\n        at \\u009b2J (x.ts:1)\n');
});

test('the screen says how to get another key where the first is not shown again, and is no way to steer a terminal', () => {
  const server = { url: 'http://x', publicUrl: 'http://x', stop: async () => undefined };
  const shown = { version: '1', database: { engine: 'sqlite', path: '/a\u009b2J' } } as const;
  const screen = devScreen({ ...server, devKey: undefined, devAccountId: 'acc_1' }, shown);
  expect(screen).toContain('shortlink-server keys create --account acc_1');
  expect(screen).toMatch(/ \/a\\u009b2J$/m);
  expect(devScreen({ ...server, devKey: 'sl_1', devAccountId: 'acc_1' }, shown)).toContain(
    ' sl_1\n',
  );
});

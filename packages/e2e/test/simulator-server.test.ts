import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runProgram } from '../src/run-program.ts';

const MAIN = fileURLToPath(new URL('../simulator/server/main.ts', import.meta.url));

/** A process of its own: the simulator replaces the clock and the timers of Node. */
const simulate = (...args: string[]) => runProgram(MAIN, args);

test('histories of creates, batches, polls, crashes and faults over several servers: nothing is ever wrong', async () => {
  const run = await simulate('--seeds', '100');
  expect(run.stdout).toMatch(
    /^100 histories with \d{3,} requests, 0 failures, \d+ histories a second\n$/,
  );
  expect(run.exitCode, run.stderr).toBe(0);
});

test('a planted bug is found', async () => {
  const run = await simulate('--mutants', 'count-after-commit', 'chunk-twice', '--seeds', '200');
  expect(run.stdout).toMatch(/count-after-commit: found after \d+ seeds/);
  expect(run.stdout).toMatch(/chunk-twice: found after \d+ seeds/);
  expect(run.exitCode, run.stderr).toBe(0);
});

test('a history that goes wrong is shown as short as it can be', async () => {
  const run = await simulate('--mutants', 'one-request-too-few', '--seed', '1');
  expect(run.stdout).toContain('request 1');
  // The window that is refused too early is full by itself, or ends later than one that is full.
  expect(run.stdout).toMatch(
    /VIOLATION: (429 although no window is full|Retry-After is \d+ s, and full windows end in \d+ s)/,
  );
  expect(run.stdout.split('\n').length).toBeLessThan(20);
});

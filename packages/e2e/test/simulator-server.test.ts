import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { runProgram } from '../src/run-program.ts';

const MAIN = fileURLToPath(new URL('../simulator/server/main.ts', import.meta.url));

/** A process of its own: the simulator replaces the clock and the timers of Node. Each night plays 20,000 seeds, 2,000 on PostgreSQL, and all planted bugs. */
const simulate = (...args: string[]) => runProgram(MAIN, args);

test('histories of creates, batches, polls, crashes and faults over several servers: nothing is ever wrong', async () => {
  const run = await simulate('--seeds', '25');
  expect(run.stdout).toMatch(/^25 seeds, 0 failures, \d{3,} requests in /m);
  expect(run.exitCode, run.stderr).toBe(0);
});

test('histories on PostgreSQL, one statement at a time: nothing is ever wrong, and a planted bug is found', async () => {
  const run = await simulate('--postgres', '--seeds', '1');
  expect(run.stdout).toMatch(/^1 seeds, 0 failures, \d+ requests in /m);
  expect(run.exitCode, run.stderr).toBe(0);
  // From the seed on that shows it.
  const seeds = ['--from', '48', '--seeds', '100'];
  const bug = await simulate('--postgres', '--mutants', 'commit-repeated', ...seeds);
  expect(bug.stdout).toMatch(/^commit-repeated +\d+ seeds: found/m);
  expect(bug.exitCode, bug.stderr).toBe(0);
});

test('a planted bug is found', async () => {
  // From the seed on that shows both.
  const seeds = ['--from', '9', '--seeds', '100'];
  const run = await simulate('--mutants', 'count-after-commit', 'chunk-twice', ...seeds);
  expect(run.stdout).toMatch(/^count-after-commit +\d+ seeds: found/m);
  expect(run.stdout).toMatch(/^chunk-twice +\d+ seeds: found/m);
  expect(run.stdout).toContain('2 planted bugs, 0 not found');
  expect(run.exitCode, run.stderr).toBe(0);
});

test('a history that goes wrong is shown as short as it can be, and can be played again', async () => {
  const bug = ['--mutants', 'one-request-too-few', '--seed', '2'];
  const run = await simulate(...bug);
  expect(run.exitCode, run.stderr).toBe(1);
  expect(run.stdout).toContain('request 1');
  // The window that is refused too early is full by itself, or ends later than one that is full.
  expect(run.stdout).toMatch(
    /^(429 although no window is full|Retry-After is \d+ s, and full windows end in \d+ s)/m,
  );
  expect(run.stdout.split('\n').length).toBeLessThan(20);
  const [, keep = ''] = /--seed 2 --keep (\S+)/.exec(run.stdout) ?? [];
  expect((await simulate(...bug, '--keep', keep)).stdout).toBe(run.stdout);
});

test.each([
  [['--help'], 0, '--keep'],
  [['--sed', '7'], 2, "simulate:server: Unknown option '--sed'"],
  [['--plain'], 2, "simulate:server: Unknown option '--plain'"],
  [['--seed', '7', '--keep', 'x'], 2, 'simulate:server: --keep is "x"'],
  [['--mutants', '--seed', '7'], 2, 'simulate:server: --mutants with --seed takes one name'],
] as const)('%s is read, or refused in a sentence', async (args, code, text) => {
  const { exitCode, stdout, stderr } = await simulate(...args);
  expect(code === 0 ? stdout : stderr).toContain(text);
  expect(exitCode).toBe(code);
  expect((code === 0 ? stderr : stdout) + stderr.trim()).not.toContain('\n');
});

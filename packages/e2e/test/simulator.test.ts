import { globSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Variant } from '../simulator/kernel/command-line.ts';
import { checkCoverage } from '../simulator/kernel/coverage.ts';
import BUDGET from '../simulator/kernel/coverage-budget.json' with { type: 'json' };
import { Player } from '../simulator/kernel/pool.ts';
import { runCommand } from '../src/run-command.ts';
import { runProgram } from '../src/run-program.ts';
import { wholeNumber } from '../src/whole-number.ts';

const main = fileURLToPath(new URL('../simulator/main.ts', import.meta.url));
const PACKAGES = fileURLToPath(new URL('../..', import.meta.url));
const PLAYER = new URL('../simulator/player.ts', import.meta.url).href;

/** On a busy machine the seeds take many times as long as on a quiet one. */
const LIMIT_MS = 900_000;

/** In how many of the imports, in percent, rules are checked that can't be checked always. */
const LEAST_SHARES = {
  'no row is sent twice': 94,
  'the same by rows': 96,
  'no link too many, by look-up': 20,
  'lost files': 30,
};

async function simulate(...args: string[]) {
  return await runProgram(main, args);
}

/** Node's word about what strips the types of the files that nothing has loaded. */
const STRIPPING = /^\(node:\d+\) ExperimentalWarning: stripTypeScriptTypes .*\n.*\n/;

test('290 simulated imports on other services and our own: each row has its one link, and the executed statements are counted', {
  timeout: LIMIT_MS,
}, async () => {
  // Each night plays 200,000 seeds. One thread: each has to load and warm up the programs, and other tests run beside it.
  const run = await simulate('--coverage', '--seeds', '60', '--workers', '1');
  const { exitCode, stdout, stderr } = run;
  expect(stderr.replace(STRIPPING, '')).toBe('');
  const [, imports] = /^60 seeds, 0 failures, (\d+) simulated imports /m.exec(stdout) ?? [];
  expect(Number(imports), stdout).toBeGreaterThanOrEqual(290);
  // How much the rules cover is printed, and must not fall.
  for (const [rule, least] of Object.entries(LEAST_SHARES)) {
    const [, share] = new RegExp(`${rule} in ([\\d.]+)%`).exec(stdout) ?? [];
    expect(Number(share), `${rule}: ${stdout}`).toBeGreaterThanOrEqual(least);
  }
  // The shares of executed statements, by folder.
  expect(stdout).toMatch(/^cli\/import\/send +[5-9]\d\.\d%$/m);
  expect(stdout).toMatch(/^cli\/commands\/completion +\d\.\d%$/m);
  expect(exitCode).toBe(0);
});

test('a number of seeds that is none ends the command, instead of playing no seed with success', async () => {
  const { exitCode, stderr } = await simulate('--seeds', 'many');
  expect(stderr).toContain('--seeds is "many"; expected a whole number above 0');
  expect(exitCode).toBe(2);
  for (const text of ['', '0', '-1', '1.5', '10.000', '1e3', ' 5']) {
    expect(() => wholeNumber('--seeds', text)).toThrow(`--seeds is "${text}"`);
  }
});

test.each([
  [['--sed', '7'], "simulate: Unknown option '--sed'"],
  [['--seed', '7', '--seeds', '9'], 'simulate: --seeds has no effect here'],
  [['--record'], 'simulate: --record belongs to --coverage with its usual seeds'],
  [['42'], 'simulate: "42" is no option; only --mutants takes names'],
  [['--mutants', 'no such bug'], 'simulate: there is no planted bug "no such bug"'],
])('a command line that can not be read is refused in a sentence: %s', async (args, sentence) => {
  const { exitCode, stdout, stderr } = await simulate(...args);
  expect(stderr).toContain(sentence);
  expect(stderr.trim().split('\n')).toHaveLength(1);
  expect(stdout).toBe('');
  expect(exitCode).toBe(2);
});

test('a share that has fallen fails, by its name', async () => {
  const said: string[] = [];
  const check = { command: 'simulate', scripts: [], packages: ['tables'] } as const;
  const say = (line: string) => said.push(line);
  expect(await checkCoverage({ ...check, coverage: 'compared', say })).toBe(false);
  expect(said.join('\n')).toMatch(/^tables +0\.0%, was \d+(\.\d)?%$/m);
  expect(await checkCoverage({ ...check, coverage: 'shown', say })).toBe(true);
});

test('each share that is written down is one of code that is there', () => {
  const names = Object.values(BUDGET).flatMap((shares) => Object.keys(shares));
  const gone = names.filter((name) => {
    const path = name.replace(/\/|$/, '/src/');
    return globSync([path, `${path}/**/*.ts`], { cwd: PACKAGES }).every(
      (at) => !at.endsWith('.ts'),
    );
  });
  expect(gone).toEqual([]);
});

test('--help lists the options and plays nothing', async () => {
  const { exitCode, stdout } = await simulate('--help');
  for (const option of ['--seeds', '--seed', '--mutants', '--no-losses']) {
    expect(stdout).toContain(option);
  }
  expect(exitCode).toBe(0);
});

/** One of each kind: on the disk, in what other files say, and in our own server. */
const PLANTED = [
  'results not synced',
  'links of the results not kept in the journal',
  'server carries a key out again',
];

// Every night plants all of them, and plays from seed 1 on. Here they are played from a seed on that soon shows each of these.
test('bugs that are planted are found', { timeout: LIMIT_MS }, async () => {
  const from = ['--from', '100', '--seeds', '20', '--workers', '1'];
  const { exitCode, stdout } = await simulate('--mutants', ...PLANTED, ...from);
  for (const name of PLANTED) {
    expect(stdout).toMatch(new RegExp(`^${name} +\\d+ seeds: found, `, 'm'));
  }
  expect(stdout).toContain('3 planted bugs, 0 not found');
  expect(exitCode).toBe(0);
});

/** Seeds that have failed, with what was wrong. */
const FAILED: { name: string; variant: Variant; seeds: [rule: string, seed: number][] }[] = [
  {
    name: 'without extras, which came later and would give some of these seeds another scenario',
    variant: { isPlain: true, hasLosses: false },
    seeds: [
      // Two rows are refused by name, and then the plan's batch size cuts the batch so that they are alone.
      ['refused rows keep their reason when the others are sent in smaller batches', 1007270],
      // The first batch is lost, and sent again with the rows that are left.
      ['--limit holds for the whole run', 2528],
      // The disk fails for good after the results are in place and the journal of standard input is removed.
      ['an import that has ended does not fail because its temporary files stay', 12991],
      // A job has the result of a row that is known to be refused already, and of another row with the same target.
      ['the refusal of a row is not that of another row', 1497158],
      // The response lacks one result, and those behind it have moved by a place.
      ['no row has the link of another one where a result is missing', 2370077],
    ],
  },
  {
    name: 'with files lost',
    variant: { isPlain: false, hasLosses: true },
    seeds: [
      ['a row is not in doubt where a batch was cut by entries that were refused', 7303320],
      ['a request may still arrive although the wall clock was set forward', 30515],
      ['a look-up that fails half-way gives no link to two rows', 7401041],
      ['links of a job that can not be polled are no reason to stop the others', 7403280],
      // A thousand rows are more than 256 KiB.
      ['a large body of our own server is checked in its turn', 91004330],
      ['a request is looked up a minute after its last attempt', 93004180],
      ['links that were found before a look-up failed are known to the next run', 98206435],
      ['rows stay in doubt where what a look-up has found could not be recorded', 613301040],
      ['no other row has a link in doubt that a part of a look-up has found', 93005018],
      ['links are read again where the disk has undone a comparison', 97006220],
      [
        'the results of a run whose look-up fails half-way name the links that it has created',
        9728,
      ],
    ],
  },
];

// One thread for all of them: to load the programs takes longer than to play a seed.
describe('a seed that has failed', () => {
  let thread: Player;
  beforeAll(() => {
    thread = new Player(new URL(PLAYER), []);
  });
  afterAll(() => thread.end());

  describe.each(FAILED)('$name', ({ variant, seeds }) => {
    test.each(seeds)('%s', { timeout: LIMIT_MS }, async (_rule, first) => {
      const report = await thread.play({ first, count: 1, stopsAtFailure: false, variant });
      expect(report).toMatchObject({ seeds: 1, failures: [] });
      expect(report.amount).toBeGreaterThan(0);
    });
  });
});

/** Prints the traces of two seeds. The second one is played on our own server. */
const TRACES = `
  const { load } = await import(${JSON.stringify(PLAYER)});
  const simulator = await load([]);
  for (const seed of [42, 50]) {
    const { trace } = await simulator.play(simulator.scenarioOf(seed), true);
    process.stdout.write(trace.join('\\n') + '\\n');
  }`;

test('the same seed gives the same trace, to the last byte', { timeout: LIMIT_MS }, async () => {
  const traces = (env: Record<string, string>) =>
    runCommand(process.execPath, ['--input-type=module', '--eval', TRACES], { cwd: '.', env });
  // Settings of the user's own shell change nothing.
  const [first, second] = await Promise.all([traces({}), traces({ SHORTLINK_LOG: 'debug' })]);
  expect(first.match(/=== run 1/g)?.length).toBeGreaterThanOrEqual(2);
  expect(second).toBe(first);
});

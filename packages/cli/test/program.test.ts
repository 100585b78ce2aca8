import { stripVTControlCharacters } from 'node:util';
import type { Command } from 'commander';
import { expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { EXIT_CODES } from '../src/cli-error.ts';
import { buildProgram } from '../src/program.ts';
import { run } from '../src/run.ts';
import { KEY } from './stub-service.ts';
import { cli, testIo } from './test-io.ts';

/** The words of each command, and those of the program itself, which are none. */
const commands = pathsBelow(buildProgram(testIo().io, false, async () => {}));

function pathsBelow(command: Command, path: string[] = []): string[][] {
  return [path, ...command.commands.flatMap((sub) => pathsBelow(sub, [...path, sub.name()]))];
}

test.each(['--version', '-V'])('%s prints the version alone', async (flag) => {
  const expected = { exitCode: 0, stdout: `${packageJson.version}\n`, stderr: '' };
  expect(await cli([flag])).toEqual(expected);
  expect(await cli(['--quiet', flag])).toEqual(expected);
});

test.each(commands.map((path) => [path.join(' '), path]))(
  'help of "%s" goes to stdout, with examples or subcommands',
  async (_, path) => {
    const result = await cli([...path, '--help']);
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(result.stdout).toMatch(/Examples:|Commands:/);
    expect(result.stdout).toContain('--json');
  },
);

test.each(commands.map((path) => [path.join(' '), path]))(
  'no line of the help of "%s" is wider than 80 columns',
  async (_, path) => {
    const { stdout } = await cli([...path, '--help']);
    const lines = stripVTControlCharacters(stdout).split('\n');
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
  },
);

test('the word help before a command of a group is the same as --help behind it', async () => {
  const { stdout, exitCode } = await cli(['help', 'auth', 'login']);
  expect([exitCode, stdout]).toEqual([0, (await cli(['auth', 'login', '--help'])).stdout]);
  expect(stdout).toContain('shortlink auth login');
});

test('help: commands come first, and global options only where they belong', async () => {
  const { stdout } = await cli(['--help']);
  const at = (heading: string) => stdout.indexOf(heading);
  expect(at('Commands:')).toBeGreaterThan(0);
  expect(at('Global options:')).toBeGreaterThan(at('Commands:'));
  expect(at('Examples:')).toBeGreaterThan(at('Global options:'));
  const wait = await cli(['job', 'wait', '--help']);
  expect(wait.stdout).not.toMatch(/--api-key|--max-retries/);
  expect(wait.stdout).toContain('--profile: shortlink --help');
});

test('help of import names every exit code of the tool', async () => {
  const { stdout } = await cli(['import', '--help']);
  const listed = stdout.split('Exit codes:\n')[1]?.matchAll(/^ +(\d+) {2}\w.+$/gm) ?? [];
  expect([...listed].map(([, code]) => Number(code))).toEqual(Object.values(EXIT_CODES));
});

test.each([40, 80, 120])('help fits %i columns, with bold headings', async (columns) => {
  for (const words of [[], ...commands]) {
    const { io, stdout } = testIo({ tty: { stdout: true }, env: { TERM: 'xterm-256color' } });
    Object.assign(io.stdout, { columns });
    await run([...words, '--help'], io);
    expect(stdout()).toContain('\u001b[1mUsage:\u001b[22m');
    for (const line of stripVTControlCharacters(stdout()).split('\n')) {
      // A command to copy, a usage line or a long name of an option is not broken.
      if (!/^( {2}\$ |Usage: | {2}-)/.test(line)) expect(line.length).toBeLessThanOrEqual(columns);
    }
  }
});

test('no command prints help to stderr and exits 2', async () => {
  for (const argv of [[], ['job'], ['auth'], ['config']]) {
    const result = await cli(argv);
    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    expect(result.stderr).toContain('Usage: shortlink');
  }
});

test.each([
  [['improt', 'x'], /unknown command 'improt' \(Did you mean import\?/],
  [['import', 'x', '--dry-rum'], /unknown option '--dry-rum' \(Did you mean --dry-run\?/],
  [['job', 'wiat', 'x'], /Did you mean wait\?/],
  [['create'], /no URL to create/],
  [['usage', 'x'], /too many arguments/],
  [['create', 'a', '--redirect-type', '303'], /301, 302, 307/],
  [['create', 'a', '--timeout', 'soon'], /90s, 5m, 26h/],
  [['create', 'a', '--max-retries', '-1'], /whole number/],
  [['create', 'a', '--max-retries', '1.5'], /whole number/],
  [['import', 'x', '--map', 'x'], /option '--map <field=column>' argument 'x' is invalid/],
  [['create'], /\n {2}See: shortlink create --help/],
  [['create', 'a', '--nope'], /\n {2}See: shortlink create --help/],
  [['job', 'wait'], /\n {2}See: shortlink job wait --help/],
  [['improt'], /\n {2}See: shortlink --help/],
])('%j exits 2 and says why', async (argv, words) => {
  const result = await cli(argv);
  expect(result).toMatchObject({ exitCode: 2, stdout: '' });
  expect(result.stderr).toMatch(words);
  expect(result.stderr).toMatch(/^error: /);
});

test('usage errors are JSON too with --json', async () => {
  const result = await cli(['create', '--json']);
  expect(JSON.parse(result.stderr)).toMatchObject({
    version: 1,
    error: { code: 'usage', exit_code: 2, message: expect.stringContaining('URL') },
  });
});

test.each([
  [['create', 'x', `--apikey=${KEY}`]],
  [['create', 'x', '--api-key', KEY, '--nope']],
  [['create', 'x', `--api-key=${KEY}`, KEY]],
  [['usage', KEY, '--api-key', KEY]],
])('a key in a wrong command line is not repeated: %#', async (argv) => {
  const result = await cli(argv);
  expect(result.exitCode).toBe(2);
  expect(result.stdout + result.stderr).not.toContain(KEY);
});

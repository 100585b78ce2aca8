import { expect, test } from 'vitest';
import packageJson from '../package.json' with { type: 'json' };
import { describeCommands } from '../src/commands/completion/model.ts';
import { buildProgram } from '../src/program.ts';
import { KEY } from './stub-service.ts';
import { cli, testIo } from './test-io.ts';

const commands = describeCommands(buildProgram(testIo().io, async () => {}))
  .map(({ path }) => path.split(' ').slice(1))
  .filter((path) => path.at(-1) !== 'help');

test.each(['--version', '-V'])('%s prints the version alone', async (flag) => {
  const expected = { exitCode: 0, stdout: `${packageJson.version}\n`, stderr: '' };
  expect(await cli([flag])).toEqual(expected);
  expect(await cli(['--quiet', flag])).toEqual(expected);
});

test.each(commands)(
  'help of "%s %s" goes to stdout, with examples or subcommands',
  async (...path) => {
    const words = path.filter((word) => typeof word === 'string');
    const result = await cli([...words, '--help']);
    expect(result).toMatchObject({ exitCode: 0, stderr: '' });
    expect(result.stdout).toMatch(/Examples:|Commands:/);
    expect(result.stdout).toContain('--json');
  },
);

test('no command prints help to stderr and exits 2', async () => {
  for (const argv of [[], ['job'], ['auth'], ['config']]) {
    const result = await cli(argv);
    expect(result).toMatchObject({ exitCode: 2, stdout: '' });
    expect(result.stderr).toContain('Usage: shortlink');
  }
});

test.each([
  [['improt', 'x'], /unknown command 'improt'\n.*Did you mean import\?/],
  [['import', 'x', '--dry-rum'], /unknown option '--dry-rum'\n.*Did you mean --dry-run\?/],
  [['job', 'wiat', 'x'], /Did you mean wait\?/],
  [['create'], /no URL to create/],
  [['usage', 'x'], /too many arguments/],
  [['create', 'a', '--redirect-type', '303'], /301, 302, 307/],
  [['create', 'a', '--timeout', 'soon'], /90s, 5m, 26h/],
  [['create', 'a', '--max-retries', '-1'], /whole number/],
  [['create', 'a', '--max-retries', '1.5'], /whole number/],
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

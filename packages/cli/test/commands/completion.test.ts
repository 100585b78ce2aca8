import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { bashScript } from '../../src/commands/completion/bash.ts';
import { describeCommands } from '../../src/commands/completion/model.ts';
import { buildProgram } from '../../src/program.ts';
import { cli, testFolder, testIo } from '../test-io.ts';

const commands = () => describeCommands(buildProgram(testIo().io, false, async () => {}));

test('the model holds every command and every option that help shows', () => {
  const paths = commands().map(({ path }) => path);
  expect(paths).toEqual(
    expect.arrayContaining([
      'shortlink create',
      'shortlink import',
      'shortlink job get',
      'shortlink job wait',
      'shortlink usage',
      'shortlink auth login',
      'shortlink auth logout',
      'shortlink auth status',
      'shortlink config get',
      'shortlink config set',
      'shortlink config list',
      'shortlink completion',
    ]),
  );
});

describe('bash, really sourced', () => {
  let script: string;
  beforeAll(async () => {
    ({ stdout: script } = await cli(['completion', 'bash']));
  });

  /** What bash offers for a line whose last word is being typed. */
  function complete(words: string[], cwd?: string): string[] {
    const bash = [
      script,
      `COMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')})`,
      `COMP_CWORD=${words.length - 1}`,
      '_shortlink',
      // biome-ignore lint/suspicious/noTemplateCurlyInString: bash's own.
      'printf "%s\\n" "${COMPREPLY[@]}"',
    ].join('\n');
    const output = execFileSync('bash', ['--norc', '-c', bash], { cwd, encoding: 'utf8' });
    return output.split('\n').filter((word) => word !== '');
  }

  test.each([
    [['shortlink', 'im'], ['import']],
    [
      ['shortlink', 'co'],
      ['config', 'completion'],
    ],
    [
      ['shortlink', 'job', ''],
      ['get', 'wait', 'help'],
    ],
    [
      ['shortlink', '--profile', 'x', 'auth', 'lo'],
      ['login', 'logout'],
    ],
    [
      ['shortlink', 'completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [['shortlink', 'completion', 'bash', ''], []],
    [['shortlink', 'config', 'get', 'b'], ['base_url']],
    [['shortlink', 'config', 'set', 'profile', 'b'], []],
    [
      ['shortlink', 'import', '--on-unknown', ''],
      ['stop', 'retry', 'skip'],
    ],
    [
      ['shortlink', 'import', '--on-unknown', '=', 's'],
      ['stop', 'skip'],
    ],
    [['shortlink', 'import', 'a.csv', '--input-f'], ['--input-format']],
    [['shortlink', 'import', '--input-format', 'csv', '--output-format', 'j'], ['jsonl']],
    [
      ['shortlink', 'create', '--redirect-type', '30'],
      ['301', '302', '307'],
    ],
    [['shortlink', 'create', '--title', 'import', '--redi'], ['--redirect-type']],
    [
      ['shortlink', 'job', 'wait', '--max'],
      ['--max-wait', '--max-retries'],
    ],
    [['shortlink', 'usage', '--no'], ['--no-color']],
  ])('%j offers %j', (words, expected) => {
    expect(complete(words)).toEqual(expected);
  });

  test('files, where a file is meant', async () => {
    const folder = await testFolder();
    writeFileSync(join(folder, 'my links.csv'), '');
    mkdirSync(join(folder, 'more'));
    expect(complete(['shortlink', 'import', 'my'], folder)).toEqual(['my links.csv']);
    expect(complete(['shortlink', 'import', 'x', '-o', 'mo'], folder)).toEqual(['more']);
    expect(complete(['shortlink', 'job', 'wait', 'id', '--output', '=', 'm'], folder)).toEqual(
      expect.arrayContaining(['my links.csv', 'more']),
    );
    expect(complete(['shortlink', 'create', 'm'], folder)).toEqual([]);
  });
});

test('a new option is offered without a change to the scripts', () => {
  const program = buildProgram(testIo().io, false, async () => {});
  program.commands.find((command) => command.name() === 'usage')?.option('--brand-new <file>', 'x');
  const script = bashScript(describeCommands(program));
  expect(script).toContain('--brand-new');
});

test.each(['zsh', 'fish'])('the %s script names every command and option', async (shell) => {
  const { stdout, exitCode } = await cli(['completion', shell]);
  expect(exitCode).toBe(0);
  for (const { subcommands, options } of commands()) {
    for (const { name } of subcommands) expect(stdout).toContain(name);
    for (const { names } of options) {
      for (const name of names) expect(stdout).toContain(name.replace(/^-+/, ''));
    }
  }
});

test('another shell is a usage error', async () => {
  const result = await cli(['completion', 'tcsh']);
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toMatch(/bash, zsh, fish/);
});

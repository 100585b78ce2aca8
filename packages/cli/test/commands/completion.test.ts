import { execFileSync } from 'node:child_process';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { workbook } from '../../../tables/test/workbook-fixture.ts';
import { cli, testFolder } from '../test-io.ts';

/** What is offered for a line of bash that ends at the cursor, or that files are. */
async function bash(line: string): Promise<string[] | 'files'> {
  const { stdout, stderr, exitCode } = await cli(['__complete', 'bash', line]);
  expect(stderr).toBe('');
  return exitCode === 1 ? 'files' : stdout.split('\n').filter((word) => word !== '');
}

/** The same, as fish and zsh give the words: without the program, and whole. */
async function fish(...words: string[]): Promise<string[]> {
  const { stdout, exitCode } = await cli(['__complete', 'fish', ...words]);
  expect(exitCode).toBe(0);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : (line.split('\t')[0] ?? '')));
}

test.each([
  ['shortlink im', ['import']],
  ['shortlink co', ['config', 'completion']],
  ['shortlink job ', ['get', 'wait', 'help']],
  ['shortlink --profile x auth lo', ['login', 'logout']],
  ['shortlink completion ', ['bash', 'zsh', 'fish']],
  ['shortlink completion bash ', []],
  ['shortlink config get b', ['base_url']],
  ['shortlink config set profile b', []],
  ['shortlink import --on-unknown ', ['stop', 'retry', 'skip']],
  ['shortlink import --on-unknown=s', ['stop', 'skip']],
  ['shortlink import --on-unknown=', ['stop', 'retry', 'skip']],
  ['shortlink import a.csv --input-f', ['--input-format']],
  ['shortlink import --input-format csv --output-format j', ['jsonl']],
  ['shortlink create --redirect-type 30', ['301', '302', '307']],
  ['shortlink create --title import --redi', ['--redirect-type']],
  ['shortlink create https://example.com --redi', ['--redirect-type']],
  ['shortlink create "--title=a b"  --redi', ['--redirect-type']],
  ["shortlink create --title 'it is' --redi", ['--redirect-type']],
  ['shortlink job wait --max', ['--max-wait', '--max-retries']],
  ['shortlink usage --no', ['--no-color']],
  ['shortlink create m', []],
  ['shortlink import m', 'files'],
  ['shortlink import x -o m', 'files'],
  ['shortlink job wait id --output=m', 'files'],
  ['shortlink create --title --', []],
  ['shortlink verify --tar', ['--targets']],
  ['shortlink import --map t', ['target_url=', 'title=', 'tags=']],
  ['shortlink verify --map ', ['short_url=', 'target_url=']],
])('%s offers %j', async (line, expected) => {
  expect(await bash(line)).toEqual(expected);
});

test('descriptions, for shells that show them', async () => {
  const { stdout: fish } = await cli(['__complete', 'fish', 'us']);
  expect(fish).toContain('usage\tShow how much of its plan the account has used\n');
  const { stdout: zsh } = await cli(['__complete', 'zsh', 'import', '--dry']);
  expect(zsh).toContain('--dry-run:check the file, compare it with what exists, and forecast');
});

test('profiles, from the config file', async () => {
  const home = await testFolder();
  await mkdir(join(home, '.config/shortlink'), { recursive: true });
  const profiles = { live: { base_url: 'https://sho.rt' }, staging: {} };
  const config = JSON.stringify({ profiles });
  await writeFile(join(home, '.config/shortlink/config.json'), config, { mode: 0o600 });
  const { stdout } = await cli(['__complete', 'fish', '--profile', ''], { home });
  expect(stdout).toBe('live\t\nstaging\t\n');
});

describe('from the file on the line', () => {
  let folder: string;
  async function file(name: string, content: string | Buffer): Promise<string> {
    const path = join(folder, name);
    await writeFile(path, content);
    return path;
  }
  beforeEach(async () => {
    folder = await testFolder();
  });

  test('columns', async () => {
    const path = await file('my links.csv', 'Long URL;Über uns\nhttps://example.com;x\n');
    const expected = ['target_url=Long URL', 'target_url=Über uns'];
    expect(await fish('import', path, '--map', 'target_url=')).toEqual(expected);
    expect(await fish('import', path, '--map=title=')).toEqual([
      '--map=title=Long URL',
      '--map=title=Über uns',
    ]);
    // bash wants only what follows the place where it cuts the word.
    const line = `shortlink import ${path.replace(' ', '\\ ')} --map target_url=`;
    expect(await bash(`${line}Lo`)).toEqual(['Long\\ URL']);
    expect(await bash(`${line}Long\\ U`)).toEqual(['Long\\ URL']);
    expect(await bash(`${line}"Long U`)).toEqual(['Long URL']);
    expect(await bash(line)).toEqual(['Long\\ URL', 'Über\\ uns']);
  });

  test('between quotes, bash gets no name that could be code', async () => {
    const path = await file(
      'evil.csv',
      'target_url,$(touch PWNED),a`b,Plain: name\nhttps://x.example\n',
    );
    const line = `shortlink import ${path} --map `;
    expect(await bash(`${line}"title=$`)).toEqual([]);
    expect(await bash(`${line}title='$`)).toEqual([]);
    expect(await bash(`${line}title=""$`)).toEqual([]);
    expect(await bash(`${line}title=$""`)).toEqual([]);
    expect(await bash(`${line}"title=`)).toEqual(['title=target_url', 'title=Plain: name']);
    expect(await bash(`${line}title=$`)).toEqual(['\\$\\(touch\\ PWNED\\)']);
  });

  test('columns of a file in which no column is recognized, and which other options describe', async () => {
    const path = await file('odd.txt', 'made by hand\na|b\n1|2\n');
    const args = ['--skip-lines', '1', '--delimiter', '|', '--input-format=csv'];
    expect(await fish('import', path, ...args, '--map', 'title=')).toEqual(['title=a', 'title=b']);
  });

  test('of several on the line, the first that is there, also in the home folder', async () => {
    await file('there.csv', 'a,b\nhttps://example.com,x\n');
    const args = ['import', '~/gone.csv', '~/there.csv', '--map', 'title='];
    // A path is no pattern, whatever it holds.
    const home = join(folder, '$&');
    await mkdir(home);
    await writeFile(join(home, 'there.csv'), 'c\nhttps://example.com\n');
    for (const [at, expected] of [
      [folder, 'title=a\t\ntitle=b\t\n'],
      [home, 'title=c\t\n'],
    ] as const) {
      const { stdout } = await cli(['__complete', 'fish', ...args], { home: at });
      expect(stdout).toBe(expected);
    }
  });

  test('keys of JSON Lines', async () => {
    const path = await file('links.jsonl', '{"url":"https://example.com","n":1}\n');
    expect(await fish('verify', path, '--map', 'short_url=')).toEqual([
      'short_url=url',
      'short_url=n',
    ]);
  });

  test('sheets, and the columns of the one that is named', async () => {
    const path = await file('book.xlsx', workbook({ Links: [['a']], 'Old links': [['b'], ['c']] }));
    expect(await fish('import', path, '--sheet', '')).toEqual(['Links', 'Old links']);
    const args = ['import', path, '--sheet', 'Old links', '--map', 'target_url='];
    expect(await fish(...args)).toEqual(['target_url=b']);
  });

  test('what was unpacked for that is removed', async () => {
    const temporary = await testFolder();
    vi.stubEnv('TMPDIR', temporary);
    onTestFinished(() => void vi.unstubAllEnvs());
    const path = await file('book.xlsx', workbook({ Links: [['a'], ['https://example.com']] }));
    expect(await fish('import', path, '--map', 'title=')).toEqual(['title=a']);
    expect(await readdir(temporary)).toEqual([]);
  });

  test('a name that could move the cursor, or turn the text around, is not offered', async () => {
    const path = await file('evil.csv', 'a\u001b[2J,b,c\u202e\nhttps://example.com,x\n');
    expect(await fish('import', path, '--map', 'title=')).toEqual(['title=b']);
  });

  test.each([
    ['a file that is not there', 'nothing.csv'],
    ['a folder', '.'],
    ['no workbook', 'broken.xlsx'],
  ])('%s: nothing is offered, and nothing is said', async (_, name) => {
    await file('broken.xlsx', 'PK\u0003\u0004 broken');
    const path = join(folder, name);
    for (const args of [
      ['--map', 'title='],
      ['--sheet', ''],
    ]) {
      const result = await cli(['__complete', 'fish', 'import', path, ...args]);
      expect(result).toEqual({ exitCode: 0, stdout: '', stderr: '' });
    }
  });
});

test.each([
  [[]],
  [['bash']],
  [['bash', 'x']],
  [['fish', '--help', '']],
  [['fish', '--version']],
  [['tcsh', 'x', '--json', '']],
])('__complete %j neither fails nor prints a message', async (argv) => {
  expect(await cli(['__complete', ...argv])).toMatchObject({ exitCode: 0, stderr: '' });
});

test('a config file that can not be read is no error either', async () => {
  const home = await testFolder();
  await mkdir(join(home, '.config/shortlink'), { recursive: true });
  await writeFile(join(home, '.config/shortlink/config.json'), '{');
  const result = await cli(['__complete', 'fish', '--profile', ''], { home });
  expect(result).toEqual({ exitCode: 0, stdout: '', stderr: '' });
});

test('it stands in no help, and completion does not offer it', async () => {
  const { stdout } = await cli(['--help']);
  expect(stdout).not.toContain('__complete');
  expect(await fish('')).not.toContain('__complete');
});

/** What the script of bash leaves in COMPREPLY for a line, one line each. */
async function inBash(line: string, { before = '', program = '' } = {}): Promise<string> {
  const { stdout } = await cli(['completion', 'bash']);
  const script = `${before}\n${stdout}\n${program}\nCOMP_LINE='${line} more'\nCOMP_POINT=${line.length}\n_shortlink; printf '%s\\n' "\${COMPREPLY[@]}" "-"; complete -p shortlink`;
  const cwd = await testFolder();
  const printed = execFileSync('/bin/bash', ['--norc', '-c', script], { cwd, encoding: 'utf8' });
  return printed.replace(/-\ncomplete -o default -F _shortlink shortlink\n$/, '');
}

test('the script of bash asks with the line up to the cursor, and takes each line of the response', async () => {
  const program = 'shortlink() { printf "%s\\n" "$#$3" "a b" "*"; }';
  expect(await inBash('shortlink im', { program })).toBe('3shortlink im\na b\n*\n');
});

test.each(['', 'enable -n compopt'])(
  'it offers nothing itself without the program, and leaves files to readline, which quotes their names: %s',
  async (before) => {
    expect(await inBash('shortlink im', { before, program: 'PATH=' })).toBe('');
    const program = 'shortlink() { return 1; }';
    expect(await inBash('shortlink import ', { before, program })).toBe('');
  },
);

test('another shell is a usage error', async () => {
  const result = await cli(['completion', 'tcsh']);
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toMatch(/bash, zsh, fish/);
});

import { execFileSync } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { workbook } from '../../../tables/test/workbook-fixture.ts';
import { cli, testFolder } from '../test-io.ts';

/** What is offered for a line whose last word is being typed, given as bash cuts it. */
async function bash(...words: string[]): Promise<string[]> {
  const argv = ['__complete', 'bash', String(words.length - 1), ...words];
  const { stdout, stderr, exitCode } = await cli(argv);
  expect({ stderr, exitCode }).toEqual({ stderr: '', exitCode: 0 });
  return stdout.split('\n').filter((word) => word !== '');
}

/** The same, as fish and zsh give the words: without the program, and whole. */
async function fish(...words: string[]): Promise<string[]> {
  const { stdout, exitCode } = await cli(['__complete', 'fish', ...words]);
  expect(exitCode).toBe(0);
  return stdout.split('\n').flatMap((line) => (line === '' ? [] : (line.split('\t')[0] ?? '')));
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
  [
    ['shortlink', 'import', '--on-unknown', '='],
    ['stop', 'retry', 'skip'],
  ],
  [['shortlink', 'import', 'a.csv', '--input-f'], ['--input-format']],
  [['shortlink', 'import', '--input-format', 'csv', '--output-format', 'j'], ['jsonl']],
  [
    ['shortlink', 'create', '--redirect-type', '30'],
    ['301', '302', '307'],
  ],
  [['shortlink', 'create', '--title', 'import', '--redi'], ['--redirect-type']],
  [['shortlink', 'create', 'https', ':', '//example.com', '--redi'], ['--redirect-type']],
  [
    ['shortlink', 'job', 'wait', '--max'],
    ['--max-wait', '--max-retries'],
  ],
  [['shortlink', 'usage', '--no'], ['--no-color']],
  [['shortlink', 'create', 'm'], []],
  [['shortlink', 'import', 'm'], [':file']],
  [['shortlink', 'import', 'x', '-o', 'm'], [':file']],
  [['shortlink', 'job', 'wait', 'id', '--output', '=', 'm'], [':file']],
  [['shortlink', 'create', '--title', '--'], []],
  [['shortlink', 'verify', '--tar'], ['--targets']],
  [
    ['shortlink', 'import', '--map', 't'],
    ['target_url=', 'title=', 'tags='],
  ],
  [
    ['shortlink', 'verify', '--map', ''],
    ['short_url=', 'target_url='],
  ],
])('%j offers %j', async (words, expected) => {
  expect(await bash(...words)).toEqual(expected);
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
    // bash has quoted it, and wants only what follows its own cut.
    const quoted = path.replace(' ', '\\ ');
    const words = ['shortlink', 'import', quoted, '--map', 'target_url', '='];
    expect(await bash(...words, 'Lo')).toEqual(['Long\\ URL']);
    expect(await bash(...words, 'Long\\ U')).toEqual(['Long\\ URL']);
    expect(await bash(...words, '"Long U')).toEqual(['Long URL']);
    expect(await bash(...words)).toEqual(['Long\\ URL', 'Über\\ uns']);
  });

  test('between quotes, bash gets no name that could be code', async () => {
    const path = await file(
      'evil.csv',
      'target_url,$(touch PWNED),a`b,Plain: name\nhttps://x.example\n',
    );
    const words = ['shortlink', 'import', path, '--map'];
    expect(await bash(...words, '"title=$')).toEqual([]);
    expect(await bash(...words, 'title', '=', "'$")).toEqual([]);
    expect(await bash(...words, 'title', '=', '""$')).toEqual([]);
    expect(await bash(...words, 'title', '=', '$""')).toEqual([]);
    expect(await bash(...words, '"title=')).toEqual(['title=target_url', 'title=Plain: name']);
    expect(await bash(...words, 'title', '=', '$')).toEqual(['\\$\\(touch\\ PWNED\\)']);
  });

  test('columns of a file in which no column is recognized, and which other options describe', async () => {
    const path = await file('odd.txt', 'made by hand\na|b\n1|2\n');
    const args = ['--skip-lines', '1', '--delimiter', '|', '--input-format=csv'];
    expect(await fish('import', path, ...args, '--map', 'title=')).toEqual(['title=a', 'title=b']);
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

  test('a name that could move the cursor, or turn the text around, is not offered', async () => {
    const path = await file('evil.csv', 'a\u001b[2J,b,c\u202e\nhttps://example.com,x\n');
    expect(await fish('import', path, '--map', 'title=')).toEqual(['title=b']);
  });

  test('a name that is the word for files is not offered', async () => {
    const path = await file('odd.xlsx', workbook({ ':file': [['a']], Links: [['b']] }));
    expect(await bash('shortlink', 'import', path, '--sheet', '')).toEqual(['Links']);
    expect(await bash('shortlink', 'import', path, '--sheet', '=')).toEqual(['Links']);
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

test('the script of bash is one that bash takes, and leaves nothing behind without the program', async () => {
  const { stdout } = await cli(['completion', 'bash']);
  const folder = await testFolder();
  const script = `${stdout}\nCOMP_WORDS=(shortlink im)\nCOMP_CWORD=1\nPATH=${folder}\n_shortlink; echo "\${#COMPREPLY[@]}"`;
  expect(execFileSync('/bin/bash', ['--norc', '-c', script], { encoding: 'utf8' })).toBe('0\n');
});

test('files are left to readline, which quotes their names, also by a bash without compopt', async () => {
  const { stdout } = await cli(['completion', 'bash']);
  const cwd = await testFolder();
  await writeFile(join(cwd, '$(touch PWNED)'), '');
  const script = `enable -n compopt\n${stdout}\nshortlink() { echo :file; }\nCOMP_WORDS=(shortlink import '')\nCOMP_CWORD=2\n_shortlink; echo "\${#COMPREPLY[@]}"; complete -p shortlink`;
  const printed = execFileSync('/bin/bash', ['--norc', '-c', script], { cwd, encoding: 'utf8' });
  expect(printed).toBe('0\ncomplete -o default -F _shortlink shortlink\n');
});

test('another shell is a usage error', async () => {
  const result = await cli(['completion', 'tcsh']);
  expect(result.exitCode).toBe(2);
  expect(result.stderr).toMatch(/bash, zsh, fish/);
});

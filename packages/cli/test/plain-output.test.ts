import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createStyle, wantsAscii } from '../src/output/style.ts';
import { renderTable } from '../src/output/table.ts';
import { stubService, USAGE } from './stub-service.ts';
import { cli, testFolder } from './test-io.ts';

const TERMINAL = { stdout: true, stderr: true };
const BOX = /[┌│└─]/;

test.each([
  ['a pipe', {}, undefined],
  ['TERM=dumb', { TERM: 'dumb' }, TERMINAL],
  ['CI', { CI: 'true' }, TERMINAL],
  ['LANG=C', { LANG: 'C' }, TERMINAL],
])('%s gets a table without boxes, as aligned lines', async (_, env, tty) => {
  const { stdout } = await cli(['config', 'list'], { env: { ...env, NO_COLOR: '1' }, tty });
  expect(stdout).not.toMatch(BOX);
  expect(stdout.split('\n').slice(0, 4)).toEqual([
    'setting   value    from',
    'base_url           not set',
    'api_key            not set',
    'profile   default  default',
  ]);
});

test('a terminal gets boxes', async () => {
  const { stdout } = await cli(['config', 'list'], { env: { TERM: 'xterm' }, tty: TERMINAL });
  expect(stdout).toMatch(BOX);
});

test('columns of a plain table line up, whatever is wide', async () => {
  const style = createStyle(false);
  const rows = [
    ['短い', '1'],
    ['a\u001b[31m', '1,000'],
  ];
  expect(await renderTable({ head: ['name', 'n'], rows, right: [1], style })).toBe(
    'name      n\n短い      1\na     1,000',
  );
});

test.each([
  [{ LANG: 'C' }, true],
  [{ LANG: 'POSIX' }, true],
  [{ LANG: 'en_US.ISO-8859-1' }, true],
  [{ LC_ALL: 'C', LANG: 'en_US.UTF-8' }, true],
  [{ LC_CTYPE: 'C', LANG: 'en_US.UTF-8' }, true],
  [{ LC_ALL: '', LANG: 'C.UTF-8' }, false],
  [{ LANG: 'de_DE.utf8@euro' }, false],
  [{ LANG: 'de_DE' }, false],
  [{}, false],
])('with %j, ASCII only is %s', (env, expected) => {
  expect(wantsAscii(env)).toBe(expected);
});

test('LANG=C gets ASCII signs in messages, and data as it is', async () => {
  const service = await stubService();
  const env = { ...service.env, LANG: 'C', NO_COLOR: '1' };
  const target = 'https://example.com/→';
  const created = await cli(['create', target, target], { env, tty: { stderr: true } });
  expect(created.stderr).toBe('+ 2 links created\n');
  const usage = await cli(['usage'], { env, tty: { stdout: true } });
  // biome-ignore lint/suspicious/noControlCharactersInRegex: that there is nothing but ASCII is the point.
  expect(usage.stdout).toMatch(/^[\x00-\x7f]*$/);
  expect(usage.stdout).toContain('####');
  const missing = await cli(['import', join(await testFolder(), 'x.csv')], { env });
  expect(missing.exitCode).toBe(2);
});

test('usage without a limit shows no bar', async () => {
  const service = await stubService();
  const { stdout } = await cli(['usage'], { env: service.env });
  expect(USAGE.links.limit).toBeNull();
  expect(stdout).toContain('\nShort links          1,234, no limit\n');
});

test.each([
  ['example.com', 'not an absolute http or https URL: "example.com"; is https:// missing?'],
  ['www.example.com/a?b', '; is https:// missing?'],
  ['ftp://example.com', 'not an absolute http or https URL'],
])('create %s asks what is missing, before anything is sent', async (url, words) => {
  const service = await stubService();
  const result = await cli(['create', url], { env: service.env });
  expect(result).toMatchObject({ exitCode: 2, stdout: '' });
  expect(result.stderr).toContain(words);
  expect(service.requests).toEqual([]);
});

test.each([
  [[]],
  [['create']],
  [['import']],
  [['job', 'wait']],
  [['verify']],
  [['usage']],
  [['auth', 'login']],
  [['config', 'set']],
  [['completion']],
])('help of %j names the exit codes', async (path) => {
  const { stdout } = await cli([...path, '--help']);
  expect(stdout).toMatch(/\nExit codes:\n {2,}0 {2}\w/);
  expect(stdout).toMatch(/\n {2,}2 {2}\w/);
  expect(stdout).toMatch(/\n {2,}130 {2}interrupted\n/);
});

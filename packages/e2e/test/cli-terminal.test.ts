import { spawnSync } from 'node:child_process';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { workbook } from '../../tables/test/workbook-fixture.ts';
import { cliHere } from '../src/cli-here.ts';
import { parseCsv } from '../src/parse-csv.ts';
import { CLI_PROGRAM, commandOf } from '../src/programs.ts';
import { CTRL_C, cliTerminal, Terminal } from '../src/terminal.ts';
import { World } from '../src/world.ts';

let world: World;
let key: string;
let env: Record<string, string>;

beforeAll(async () => {
  world = await World.create();
});
beforeEach(async () => {
  await world.newFolder();
  ({ key } = await world.caller('custom'));
  env = {
    SHORTLINK_API_KEY: key,
    SHORTLINK_BASE_URL: world.server.url,
    XDG_CONFIG_HOME: world.path('config'),
  };
});
afterAll(() => world[Symbol.asyncDispose]());

/** Five batches a second: however fast the machine is, an import lasts long enough to be watched and stopped. */
const SLOWLY = ['--batch-size', '100', '--rpm', '300'];

async function writeUrls(rows: number): Promise<void> {
  const urls = Array.from({ length: rows }, (_, row) => `https://example.com/${row}`);
  await writeFile(world.path('urls.csv'), `url\n${urls.join('\n')}\n`);
}

const shortlink = (args: readonly string[], more: Record<string, string> = {}) =>
  cliTerminal(args, world.folder, { ...env, ...more });

/** The exit code of an import that is not what is tested. */
const importHere = async (name: string) =>
  (await cliHere(world, key, ['import', world.path(name)])).exitCode;

const statuses = async () => {
  const [, ...rows] = parseCsv(await readFile(world.path('urls.csv.results.csv'), 'utf8'));
  return rows.map((row) => row[3]);
};

const linksUsed = async () => (await world.request(key, 'GET', '/api/v1/usage')).json.links.used;

test('progress: a bar that grows, rows, rate and time left, then one sentence', async () => {
  await writeUrls(2_000);
  const terminal = shortlink(['import', 'urls.csv', ...SLOWLY]);
  const shown = await terminal.until(
    /█+░+ {1,3}(\d+)% {3}[\d,]+ \/ 2,000 rows {3}[\d,.]+\/s.* {3}\d+:\d\d left/,
  );
  await terminal.until(new RegExp(`░ +(?!${shown[1]}%)\\d+%`), shown.index + shown[0].length);
  expect(await terminal.exitCode).toBe(0);
  expect(terminal.text).toContain('✓ 2,000 links created in');
  // One line is redrawn again and again, in colour, and removed at the end.
  expect(await terminal.screen()).not.toContain('░');
  expect(terminal.raw).toContain('\x1b[32m✓');
  // The cursor is shown again.
  expect(terminal.raw.lastIndexOf('\x1b[?25h')).toBeGreaterThan(
    terminal.raw.lastIndexOf('\x1b[?25l'),
  );
  expect(terminal.raw.split('\n').length).toBeLessThan(30);
});

test('Ctrl-C once: batches in flight end, the rest is unsent, and the same command creates it', async () => {
  await writeUrls(1_000);
  const stopped = shortlink(['import', 'urls.csv', ...SLOWLY]);
  await stopped.until(/\d left/);
  stopped.type(CTRL_C);
  await stopped.until(/Stopping after the batches in flight/);
  expect(await stopped.exitCode).toBe(130);
  expect(stopped.text).toMatch(/✗ [\d,]+ links created, [\d,]+ unsent in/);
  expect(stopped.text).toContain('error: Interrupted.');
  expect(stopped.text).toContain(
    'To continue: shortlink import urls.csv --batch-size 100 --rpm 300',
  );
  const first = await statuses();
  expect(new Set(first)).toEqual(new Set(['created', 'unsent']));
  expect(await linksUsed()).toBe(first.filter((status) => status === 'created').length);

  const again = shortlink(['import', 'urls.csv'], { NO_COLOR: '1' });
  await again.until(/new rows, [\d,]+ already imported/);
  expect(await again.exitCode).toBe(0);
  expect(await linksUsed()).toBe(1_000);
  // The same without a colour.
  expect(again.text).toMatch(/✓ [\d,]+ links created/);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  expect(again.raw).not.toMatch(/\u001b\[[\d;]*m/);
});

test('Ctrl-C twice: ends at once, and what was in flight is followed by the next run', async () => {
  await writeUrls(4_000);
  const stopped = shortlink(['import', 'urls.csv', '--batch-size', '2000']);
  await stopped.until(/job [\d,]+ \/ 2,000/);
  // A server that answers nothing more: whoever waits for it does not end.
  const { child } = world.server;
  onTestFinished(() => void child.kill('SIGCONT'));
  child.kill('SIGSTOP');
  stopped.type(CTRL_C);
  await stopped.until(/Stopping/);
  stopped.type(CTRL_C);
  expect(await stopped.exitCode).toBe(130);
  child.kill('SIGCONT');
  await expect(stat(world.path('urls.csv.results.csv'))).rejects.toThrow('ENOENT');

  const again = shortlink(['import', 'urls.csv', '--on-unknown', 'skip']);
  expect([0, 7]).toContain(await again.exitCode);
  const outcomes = await statuses();
  expect(outcomes).toHaveLength(4_000);
  expect(outcomes.filter((outcome) => outcome !== 'created' && outcome !== 'unknown')).toEqual([]);
});

test('| head: the import ends quietly, without a stack, and the journal has what it did', async () => {
  // The results are larger than the pipe and what is written at once, so that `head` ends while the import still writes.
  await writeUrls(5_000);
  const command = `"${commandOf(CLI_PROGRAM).join(`" "`)}" import urls.csv -o - | head -n 2 > first.csv; echo "ended with \${PIPESTATUS[0]}"`;
  const shell = new Terminal('bash', ['-c', command], world.folder, env);
  await shell.until(/ended with \d+/);
  // Not from the screen, where both programs write at the same time.
  const first = await readFile(world.path('first.csv'), 'utf8');
  expect(first).toMatch(/^url,code,short_url,status,error,made_for\nhttps:\/\/example\.com\/0,/);
  expect(shell.text).toMatch(/ended with 0/);
  expect(shell.text).not.toMatch(/EPIPE|^\s+at /m);
  await shell.exitCode;
  expect(await importHere('urls.csv')).toBe(0);
  expect(await linksUsed()).toBe(5_000);
});

test('auth login: the key is not echoed, is checked, and is stored for its owner only', async () => {
  const { SHORTLINK_API_KEY: _, SHORTLINK_BASE_URL: __, ...bare } = env;
  const login = cliTerminal(['auth', 'login', '--base-url', world.server.url], world.folder, bare);
  await login.until(/API key:/);
  login.type(`${key}\r`);
  expect(await login.exitCode).toBe(0);
  expect(login.raw).not.toContain(key);
  expect(login.text).toContain(`****${key.slice(-4)}`);
  const file = world.path('config/shortlink/config.json');
  expect(await readFile(file, 'utf8')).toContain(key);
  expect((await stat(file)).mode & 0o777).toBe(0o600);
});

test('--on-similar is asked for where standard input is a terminal', async () => {
  await writeFile(world.path('old.csv'), 'url,title\nhttps://example.com/a,Old\n');
  expect(await importHere('old.csv')).toBe(0);
  for (const [name, typed, code, links, words] of [
    ['links.csv', '\r', 2, 1, /--on-similar reuse/],
    ['links.csv', 'nonsense\r', 2, 1, /--on-similar reuse/],
    ['links.csv', CTRL_C, 130, 1, /Interrupted/],
    ['links.csv', 'reuse\r', 0, 1, /already imported|Already imported: 1 row/],
    ['others.csv', 'create\r', 0, 2, /✓ 1 link created/],
  ] as const) {
    await writeFile(world.path(name), `url,title\nhttps://example.com/a,New in ${name}\n`);
    const terminal = shortlink(['import', name]);
    await terminal.until(/could be theirs or others.*line 2: http/s);
    await terminal.until(/Reuse these links, create others, or stop\? \[reuse\/create\/stop\] /);
    terminal.type(typed);
    expect(await terminal.exitCode, terminal.text).toBe(code);
    expect(terminal.text).toMatch(words);
    expect(await linksUsed()).toBe(links);
  }
  await writeFile(world.path('more.csv'), 'url,title\nhttps://example.com/a,More\n');
  const command = `"${commandOf(CLI_PROGRAM).join(`" "`)}" import more.csv < /dev/null`;
  const shell = new Terminal('bash', ['-c', command], world.folder, env);
  expect(await shell.exitCode).toBe(2);
  expect(shell.text).not.toContain('[reuse/create/stop]');
});

/** Shells without the settings of whoever runs the tests, and the line that loads the completion. */
const SHELLS = {
  bash: { args: ['--norc', '-i'], load: 'source <(shortlink completion bash)' },
  zsh: {
    args: ['-f', '-i'],
    load: 'autoload -U compinit; compinit -u -d "$ZCOMP"; source <(shortlink completion zsh)',
  },
  fish: { args: ['--no-config', '-i'], load: 'shortlink completion fish | source' },
};

describe.each(Object.entries(SHELLS))('%s completes', (name, { args, load }) => {
  test('commands, options, values, files, profiles, sheets and columns', async ({ skip }) => {
    if (spawnSync(name, ['--version']).error) skip(`this machine has no ${name}`);
    const bin = world.path('bin');
    await mkdir(bin);
    const program = commandOf(CLI_PROGRAM).join('" "');
    await writeFile(`${bin}/shortlink`, `#!/bin/sh\nexec "${program}" "$@"\n`, { mode: 0o755 });
    await mkdir(world.path('.config/shortlink'), { recursive: true });
    const config = { profiles: { staging: { base_url: 'https://sho.rt' } } };
    await writeFile(world.path('.config/shortlink/config.json'), JSON.stringify(config));
    await writeFile(world.path('my links.csv'), 'Long URL;note\nhttps://example.com;x\n');
    await writeFile(world.path('book.xlsx'), workbook({ Front: [['x']], Links: [['url']] }));
    const shell = new Terminal(name, args, world.folder, {
      ...env,
      PATH: `${bin}:${process.env['PATH']}`,
      PS1: '> ',
      HOME: world.folder,
      XDG_CONFIG_HOME: world.path('.config'),
      XDG_DATA_HOME: world.path('.local'),
      ZCOMP: world.path('zcompdump'),
    });
    shell.type(`${load}; echo re""ady\r`);
    await shell.until(/ready/);
    for (const [typed, completed] of [
      ['shortlink imp', /shortlink import$/],
      ['shortlink import x.csv --on-un', /--on-unknown$/],
      ['shortlink import x.csv --on-unknown sk', /--on-unknown skip/],
      ['shortlink import --on-unknown=sk', /--on-unknown=skip/],
      ['shortlink --profile st', /--profile staging/],
      ['shortlink import my', /import (my\\ links\.csv|'my links\.csv')/],
      ['shortlink import x.csv --output=my', /--output=('?)my\\? links/],
      ['shortlink import my\\ links.csv --map target_url=Lo', /target_url=Long\\ URL/],
      ['shortlink import book.xlsx --sheet Li', /--sheet Links/],
      ['shortlink verify my\\ links.csv --map sh', /--map short_url=/],
    ] as const) {
      shell.type(`${typed}\t`);
      await expect.poll(() => shell.screen()).toMatch(completed);
      shell.type('\x15');
      await expect.poll(() => shell.screen()).not.toMatch(completed);
    }
    shell.type('exit\r');
    expect(await shell.exitCode).toBe(0);
  });
});

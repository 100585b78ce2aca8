import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createKey } from '../src/inner-server.ts';
import { SERVER_PROGRAM } from '../src/programs.ts';
import { runProgram } from '../src/run-program.ts';
import { admin } from '../src/server-process.ts';
import { CTRL_C, Terminal } from '../src/terminal.ts';
import { World } from '../src/world.ts';
import { isPlayed, WIDTHS } from './screen-widths.ts';

/** Has a server that runs already, and an account whose names and texts are long and wide. */
let world: World;
let accountId: string;
beforeAll(async () => {
  world = await World.create();
  const store = await world.store();
  const now = Date.now();
  const name = 'Ärzteverband für Kurzverweise und Umleitungen e. V. 短縮';
  const limits = { requests_per_minute: null };
  const { id } = await store.createAccount({ name, plan: 'custom', limits, now });
  accountId = id;
  const { key } = await createKey(store, {
    accountId,
    name: 'the key of the nightly import of all departments',
    permissions: ['shortlinks:write', 'analytics:read'],
    now,
  });
  const input = {
    target_url: `https://example.com/${'long/'.repeat(20)}`,
    title: '短縮 '.repeat(20),
  };
  expect((await world.request(key, 'POST', '/api/v1/links', input)).status).toBe(201);
});
afterAll(() => world[Symbol.asyncDispose]());

let folder: string;
let database: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'shortlink-e2e-'));
  database = `sqlite:${join(folder, 'screens.db')}`;
});
afterEach(() => rm(folder, { recursive: true }));

/** `shortlink-server` in a pseudo-terminal of this width. */
function server(
  columns: number,
  args: readonly string[],
  env: Record<string, string> = {},
): Terminal {
  const words = [process.execPath, SERVER_PROGRAM, ...args].map((word) => `'${word}'`).join(' ');
  return new Terminal('bash', ['-c', `stty cols ${columns}; exec ${words}`], folder, {
    SHORTLINK_DATABASE_URL: database,
    ...env,
  });
}

/** The screen as it is committed, with placeholders for times, ports, keys, ids and versions, which differ between runs. */
function screen(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replaceAll(folder, '<folder>')
    .replace(/\S*\/shortlink-e2e-\w+/g, '<folder>')
    .replace(/sl_\w+/g, '<key>')
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:<port>')
    .replace(/-i :\d+/g, '-i :<port>')
    .replace(/\b(acc|key|dom)_(?!7hVmWq2RkPzN)\w{12}/g, '$1_000000000000')
    .replace(/^\w{7}(?= {2}(yes|\d|http))/gm, '0000000')
    .replace(/(?<=^code {8})\w{7}$/gm, '0000000')
    .replace(/(<port>\/)\w{7}\b/g, '$10000000')
    .replace(/^(?:\^C)?\d\d:\d\d:\d\d/gm, '00:00:00')
    .replace(/\b[\d.]+ ms\b/g, '<n> ms')
    .replace(/\bserver \d+\.\d+\.\d+\S*/g, 'server <version>')
    .replace(/\b(?!2027-01-31)\d{4}-\d\d-\d\d\b/g, '2026-01-02');
}

const snapshot = (name: string) => `screens/server-${name}.txt`;

/** Lines that are too wide for the terminal. Commands and single words, such as a key or a URL, can't be broken, so they are left out. */
const tooLong = (text: string, columns: number) =>
  text
    .split('\n')
    .filter((line) => line.length > columns && !line.startsWith('$') && line.trim().includes(' '));

/** A command as a person types it, and its output. */
const withPrompt = (args: readonly string[], { text }: Terminal) =>
  `$ shortlink-server ${args.join(' ')}\n${text.replaceAll('\r', '')}`;

describe.each(WIDTHS)('at %i columns', (columns) => {
  beforeEach(({ skip }) => skip(!isPlayed(columns), 'shown each night'));

  test('start --dev: where everything is, what to try, and a log for people', async () => {
    const terminal = server(columns, ['start', '--dev', '--port', '0']);
    const [, url = ''] = await terminal.until(/(http:\/\/127\.0\.0\.1:\d+)\/analytics/);
    const [key = ''] = await terminal.until(/sl_\w+/);
    await terminal.until(/Ctrl-C stops/);
    const create = (target_url: string) =>
      fetch(`${url}/api/v1/links`, {
        method: 'POST',
        headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
        body: JSON.stringify({ target_url }),
      });
    expect((await create('https://example.com/docs')).status).toBe(201);
    await terminal.until(/201 {2}POST/);
    expect((await create('nonsense')).status).toBe(400);
    await terminal.until(/400 {2}POST/);
    terminal.type(CTRL_C);
    expect(await terminal.exitCode).toBe(0);
    await expect(screen(terminal.text)).toMatchFileSnapshot(snapshot(`start-dev-${columns}`));
    expect(terminal.text).not.toContain('{"');
    expect(terminal.raw).toContain('\u001b[32m201');
  });

  test('help', async () => {
    let shown = '';
    for (const command of [[], ['start'], ['accounts'], ['keys', 'create']]) {
      const terminal = server(columns, [...command, '--help']);
      expect(await terminal.exitCode).toBe(0);
      expect(terminal.raw).toContain('\u001b[1mUsage:');
      expect(terminal.raw).toContain('\u001b[1mExamples:');
      shown += `${withPrompt([...command, '--help'], terminal)}\n`;
    }
    await expect(screen(shown)).toMatchFileSnapshot(snapshot(`help-${columns}`));
    // A narrower terminal wraps the lines itself.
    if (columns >= 80) expect(tooLong(shown, columns)).toEqual([]);
  });

  test('tables', async () => {
    database = world.database;
    let shown = '';
    for (const args of [
      ['accounts', 'list'],
      ['accounts', 'show', accountId],
      ['keys', 'list', '--account', accountId],
      ['links', 'list', '--account', accountId],
    ]) {
      const terminal = server(columns, args);
      expect(await terminal.exitCode).toBe(0);
      shown += `${withPrompt(args, terminal)}\n`;
      // On a narrower terminal, and where limits would be cut, each row is a record, whose values are never cut.
      if (args[1] === 'list' && columns >= 80) {
        const lines = tooLong(withPrompt([], terminal), columns);
        expect(lines.filter((line) => !line.startsWith('limits '))).toEqual([]);
      }
    }
    await expect(screen(shown)).toMatchFileSnapshot(snapshot(`tables-${columns}`));
  });

  test('an address in use: what to do', async () => {
    const terminal = server(columns, ['start', '--dev', '--port', String(world.server.port)]);
    expect(await terminal.exitCode).toBe(1);
    const shown = terminal.text.replaceAll('\r', '');
    await expect(screen(shown)).toMatchFileSnapshot(snapshot(`address-in-use-${columns}`));
  });
});

test('a second start --dev on the same database says how to get another key; NO_COLOR: without a colour', async () => {
  await admin(database, ['accounts', 'create', '--init', '--name', 'x', '--plan', 'pro']);
  const terminal = server(80, ['start', '--dev', '--port', '0'], { NO_COLOR: '1' });
  await terminal.until(/Ctrl-C stops/);
  terminal.type(CTRL_C);
  expect(await terminal.exitCode).toBe(0);
  await expect(screen(terminal.text)).toMatchFileSnapshot(snapshot('start-dev-again'));
  const help = server(80, ['--help'], { NO_COLOR: '1' });
  await help.exitCode;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
  expect(terminal.raw + help.raw).not.toMatch(/\u001b\[[\d;]*m/);
});

test('a path that a visitor asks for can not steer the terminal', async () => {
  const terminal = server(80, ['start', '--dev', '--port', '0', '--log-level', 'debug']);
  const [, url = ''] = await terminal.until(/(http:\/\/127\.0\.0\.1:\d+)\/analytics/);
  await fetch(`${url}/%1b%5b31mred%c2%9b`);
  await terminal.until(/404 {2}GET/);
  terminal.type(CTRL_C);
  expect(await terminal.exitCode).toBe(0);
  expect(terminal.raw).not.toContain('\u001b[31mred');
  expect(terminal.raw).not.toContain('\u009b');
});

test('without --dev, a terminal gets the lines that a pipe gets', async () => {
  const terminal = server(80, ['start', '--port', '0']);
  await terminal.until(/^listening on http:\/\/127\.0\.0\.1:\d+\r?$/m);
  await terminal.until(/^\{"level":"info".*"msg":"serving"\}/m);
  terminal.type(CTRL_C);
  expect(await terminal.exitCode).toBe(0);
});

test('help in a pipe has 80 columns and no escapes', async () => {
  const { stdout, exitCode } = await runProgram(SERVER_PROGRAM, ['start', '--help']);
  expect(exitCode).toBe(0);
  expect(stdout).not.toContain('\u001b');
  expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
});

import { once } from 'node:events';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { isNight } from '../src/is-night.ts';
import { CLI_PROGRAM, commandOf } from '../src/programs.ts';
import { CTRL_C, cliTerminal, OwnTerminal, Terminal } from '../src/terminal.ts';
import { isPlayed, WIDTHS, type Width } from './screen-widths.ts';

// What `shortlink` shows on a terminal of 40, 80 and 120 columns, kept in `screens/`: the diff of a changed message shows what people
// will see. `vitest run -u` writes the files again.

const KEY = 'sl_test_0123456789abcdef';

let folder: string;
let server: Server;
let url: string;
/** Batches that the service accepts before it responds with 429. */
let batches: number;
/** `Retry-After` of that response, in seconds. */
let retryAfter: number;
let env: Record<string, string>;

beforeEach(async () => {
  batches = Number.POSITIVE_INFINITY;
  retryAfter = 37;
  server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += String(chunk);
    const { status, json } = answer(`${request.method} ${request.url}`, request.headers, body);
    response.writeHead(status, {
      'Content-Type': 'application/json',
      'Retry-After': String(retryAfter),
    });
    response.end(JSON.stringify(json));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  env = { SHORTLINK_BASE_URL: url, SHORTLINK_API_KEY: KEY };
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function answer(route: string, headers: NodeJS.Dict<string | string[]>, body: string) {
  if (headers['x-api-key'] !== KEY) return { status: 401, json: { error: 'API key is invalid.' } };
  const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();
  if (route === 'GET /api/v1/usage') {
    const json = {
      plan: 'pro',
      requests: {
        minute: { used: 12, limit: 60, resets_at: inMs(37_000) },
        day: { used: 9, limit: 10_000, resets_at: inMs(7_520_000) },
        month: { used: 199_000, limit: 200_000, resets_at: inMs(801_060_000) },
      },
      links: { used: 820, limit: 3_000 },
      api_keys: { used: 1, limit: 3 },
      batch_size: 100,
      keys: [],
    };
    return { status: 200, json };
  }
  const link = (target_url: string, index: number) => {
    const code = `c${index}`;
    return { target_url, code, short_url: `https://sho.rt/${code}` };
  };
  if (route === 'POST /api/v1/links') {
    return { status: 201, json: link(JSON.parse(body).target_url, 1) };
  }
  if (route !== 'POST /api/v1/links/batch') return { status: 404, json: { error: 'Not found.' } };
  if (batches === 0) return { status: 429, json: { error: 'At most 60 requests per minute.' } };
  batches -= 1;
  const { links } = JSON.parse(body) as { links: { target_url: string }[] };
  const results = links.map(({ target_url }, index) => link(target_url, index));
  return { status: 200, json: { status: 'completed', total: links.length, results } };
}

/** A screen in which everything that differs between runs is replaced by a text of the same width. */
function steady(screen: string): string {
  return (
    screen
      .replaceAll(new URL(url).host, '127.0.0.1:00000')
      .replace(/[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏]/g, '⠋')
      .replace(/\d+:\d\d(?= left|$| {3})/gm, 'M:SS')
      .replace(/rows {3}[\d,.]+\/s/g, 'rows   N/s')
      // On a slow machine the wait ends, and another request meets the limit.
      .replace(/(│ requests │ +)\d/g, '$1N')
      // A run that meets the limit twice takes longer than a minute.
      .replace(/ in (\d+ min ?)?([\d.]+ s)?$/gm, ' in N s')
      // Whether the line is wrapped before its last letter depends on the number.
      .replace(/ in [\d.]+\ns$/gm, ' in N s')
  );
}

/** Each night, and where a single-file `shortlink` is tested, each screen is that of the program in a pseudo-terminal. */
const ALL_REAL = isNight || process.env['SHORTLINK_E2E_BINARY'] !== undefined;

const fileOf = (name: string) => fileURLToPath(new URL(`screens/${name}.txt`, import.meta.url));

const headOf = (columns: Width) => `${'━'.repeat(columns)} ${columns}\n`;

/** The screen of a width as it was shown last. */
async function recorded(name: string, columns: Width): Promise<string> {
  const text = await readFile(fileOf(name), 'utf8');
  const [screen = ''] = text.split(headOf(columns))[1]?.split(/\n(?=━)/) ?? [];
  return screen;
}

/**
 * Runs a command in a new folder at each width and compares the screens with the file.
 *
 * @param act - what the person does meanwhile; resolves to the screen to record, or when it is there
 */
async function expectScreens(
  name: string,
  args: readonly string[],
  options: {
    files?: Record<string, string>;
    env?: Record<string, string>;
    batches?: number;
    /** Whether the program has a process of its own, and a real pseudo-terminal. */
    isReal?: boolean;
    act?: (terminal: Terminal | OwnTerminal, columns: number) => Promise<unknown>;
  } = {},
): Promise<void> {
  const screens: string[] = [];
  const before = process.cwd();
  for (const columns of WIDTHS) {
    if (!isPlayed(columns)) {
      screens.push(headOf(columns) + (await recorded(name, columns)));
      continue;
    }
    folder = await mkdtemp(join(tmpdir(), 'shortlink-screen-'));
    process.chdir(folder);
    batches = options.batches ?? Number.POSITIVE_INFINITY;
    try {
      for (const [file, text] of Object.entries(options.files ?? {})) {
        await writeFile(join(folder, file), text);
      }
      const all = { ...env, HOME: folder, ...options.env };
      const terminal =
        options.isReal || ALL_REAL
          ? cliTerminal(args, folder, all, columns)
          : new OwnTerminal(args, all, columns);
      const shown = await (options.act?.(terminal, columns) ?? terminal.exitCode);
      const screen = typeof shown === 'string' ? shown : await terminal.screen();
      screens.push(`${headOf(columns)}${steady(screen)}\n`);
      if (options.act !== undefined) {
        terminal.type(CTRL_C);
        terminal.type(CTRL_C);
        await terminal.exitCode;
      }
    } finally {
      process.chdir(before);
      await rm(folder, { recursive: true, force: true });
    }
  }
  await expect(screens.join('\n')).toMatchFileSnapshot(fileOf(name));
}

const rows = (count: number) =>
  Array.from({ length: count }, (_, i) => `https://example.com/${i},Domain ${i},agency\n`).join('');
const LINKS = { 'links.csv': `URL,Title,Labels\n${rows(2_000)}` };

/** The time left appears a moment later, and only where there is room for it. */
const waitForLimit = async (terminal: Terminal | OwnTerminal, columns: number): Promise<string> => {
  const pattern = columns < 80 ? /25%.*rate limit/ : /25%.*rate limit.*left/;
  await terminal.until(pattern);
  // The line is drawn again and again, and what has arrived of it may end in its middle.
  for (;;) {
    const screen = await terminal.screen();
    if (pattern.test(screen)) return screen;
    await terminal.until(pattern, terminal.text.length);
  }
};

test('an import that waits for the rate limit', () =>
  expectScreens('import-waiting', ['import', 'links.csv', '--map', 'tags=Labels'], {
    files: LINKS,
    batches: 5,
    act: waitForLimit,
  }));

test('an import that is interrupted, with the command to continue', () =>
  expectScreens('import-interrupted', ['import', 'links.csv', '--concurrency', '1'], {
    files: LINKS,
    batches: 5,
    isReal: true,
    act: async (terminal, columns) => {
      await waitForLimit(terminal, columns);
      terminal.type(CTRL_C);
      await terminal.exitCode;
    },
  }));

test('an import that is done', () =>
  expectScreens('import-done', ['import', 'links.csv'], { files: LINKS }));

test('an import of wide characters, without a header', () =>
  expectScreens('import-wide', ['import', 'リンク集.csv'], {
    files: { 'リンク集.csv': '東京,https://example.com/東京\n大阪,https://example.com/大阪\n' },
  }));

const BAD = { 'links.csv': `url,title\n${rows(2).replaceAll(',agency', '')}nope,C\nftp://x/,D\n` };

test('an import with bad rows, of which nothing is sent', () =>
  expectScreens('import-rejects', ['import', 'links.csv'], { files: BAD }));

test('an import with bad rows, of which the others are sent', () =>
  expectScreens('import-partly', ['import', 'links.csv', '--max-rejects', 'all'], { files: BAD }));

test('a dry run', () =>
  expectScreens('import-dry-run', ['import', 'links.csv', '--dry-run'], { files: LINKS }));

test('a rate limit that is longer than --max-wait', () =>
  expectScreens('import-rate-limit', ['import', 'links.csv', '--concurrency=1', '--max-wait=5s'], {
    files: LINKS,
    batches: 5,
  }));

test('usage', () => expectScreens('usage', ['usage']));

test('create', () =>
  expectScreens('create', ['create', 'https://example.com/a', 'https://example.com/b']));

test('create without a URL', () => expectScreens('create-nothing', ['create']));

test('a wrong key', () =>
  expectScreens('wrong-key', ['usage'], { env: { SHORTLINK_API_KEY: 'sl_wrong_0123456789' } }));

test('login', () =>
  expectScreens('login', ['auth', 'login'], {
    env: { SHORTLINK_BASE_URL: '', SHORTLINK_API_KEY: '' },
    isReal: true,
    act: async (terminal) => {
      await terminal.until(/Base URL/);
      terminal.type(`${new URL(url).host}\r`);
      await terminal.until(/API key/);
      terminal.type(`${KEY}\r`);
      await terminal.exitCode;
    },
  }));

test('help', () => expectScreens('help', ['--help']));

test('help of import', () => expectScreens('help-import', ['import', '--help']));

test('the printed command continues a run that a rate limit has ended', async () => {
  folder = await mkdtemp(join(tmpdir(), 'shortlink-screen-'));
  try {
    await writeFile(join(folder, 'my links.csv'), LINKS['links.csv']);
    batches = 5;
    retryAfter = 2;
    const args = ['import', 'my links.csv', '--concurrency', '1', '--max-wait', '1s'];
    const stopped = cliTerminal(args, folder, env);
    expect(await stopped.exitCode).toBe(6);
    const [, command] = /To continue: (.*)$/m.exec(await stopped.screen()) ?? [];
    expect(command).toBe("shortlink import 'my links.csv' --concurrency 1 --max-wait 2m");
    // It meets the limit once more, waits, and ends.
    const shell = `shortlink() { ${commandOf(CLI_PROGRAM)
      .map((word) => `"${word}"`)
      .join(' ')} "$@"; }; ${command}`;
    const again = new Terminal('bash', ['-c', shell], folder, env);
    await again.until(/rate limit: next in/);
    batches = Number.POSITIVE_INFINITY;
    expect(await again.exitCode).toBe(0);
    expect(await again.screen()).toMatch(/✓ 1,500 links created, 500 already imported in/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

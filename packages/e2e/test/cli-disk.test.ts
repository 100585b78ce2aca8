import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, rename, truncate, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { CLI_PROGRAM, commandOf } from '../src/programs.ts';
import { cleanEnvironment } from '../src/run-program.ts';
import { World } from '../src/world.ts';

const ROWS = 4_000;
const ARGS = ['import', 'urls.csv', '--batch-size', '400'];

/** So many that their results are larger than the journal with the room that it keeps. */
const MANY_ROWS = 12_000;
const MANY_ARGS = ['import', 'urls.csv', '--batch-size', '1000'];

let world: World;
let key: string;

beforeAll(async () => {
  world = await World.create();
});
beforeEach(async () => {
  await world.newFolder();
  ({ key } = await world.caller('custom'));
  await writeUrls(ROWS);
});
afterAll(() => world[Symbol.asyncDispose]());

async function writeUrls(rows: number): Promise<void> {
  const urls = Array.from({ length: rows }, (_, row) => `https://example.com/${row}`);
  await writeFile(world.path('urls.csv'), `url\n${urls.join('\n')}\n`);
}

const linksUsed = async () => (await world.request(key, 'GET', '/api/v1/usage')).json.links.used;

/** Runs the command in a shell that limits the size of files to so many kilobytes, which has the effect of a full disk. */
async function runWithLimit(kilobytes: number, args: readonly string[], redirection = '') {
  const command = `ulimit -f ${kilobytes * 2}; exec "$@" ${redirection}`;
  const child = spawn('/bin/sh', ['-c', command, 'sh', ...commandOf(CLI_PROGRAM), ...args], {
    cwd: world.folder,
    env: {
      ...cleanEnvironment(),
      CI: '1',
      SHORTLINK_API_KEY: key,
      SHORTLINK_BASE_URL: world.server.url,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const [exitCode] = await once(child, 'close');
  return { exitCode, stderr };
}

test.each([
  ['the results', [...MANY_ARGS, '-o', 'out.jsonl'], '', 'out.jsonl'],
  ['standard output', [...MANY_ARGS, '-o', '-', '--output-format', 'jsonl'], '> out', 'the output'],
])('a disk that is full for %s: said, and nothing lost', async (_, args, redirection, name) => {
  await writeUrls(MANY_ROWS);
  const full = await runWithLimit(1_650, args, redirection);
  expect(full.stderr).toContain(`error: ${name} can't be written: files may not become so large`);
  expect(full.stderr).toMatch(/^✗ [\d,]+ links created/m);
  expect(full.exitCode).toBe(1);
  expect(await readdir(world.folder)).not.toContain('out.jsonl.partial');

  const again = await world.cli(key, MANY_ARGS);
  expect(again.exitCode, again.stderr).toBe(0);
  expect(await linksUsed()).toBe(MANY_ROWS);
});

test('a disk that is full for the journal: no row is sent twice after it', async () => {
  const full = await runWithLimit(80, [...ARGS, '-o', '-']);
  expect(full.stderr).toContain(
    "error: urls.csv.shortlink-journal can't be written: the disk reports an error",
  );
  expect(full.exitCode).toBe(1);
  // The outcome of a batch is unknown where the journal had no room for it, so the batch is not sent again.
  const again = await world.cli(key, [...ARGS, '--on-unknown', 'skip', '--json']);
  expect([0, 7]).toContain(again.exitCode);
  const { created, existing, unknown } = JSON.parse(again.stdout);
  expect(created + existing + unknown).toBe(ROWS);
  expect(await linksUsed()).toBe(ROWS);
});

test('a disk that is full for the temporary copy of standard input: that is what is said', async () => {
  const full = await runWithLimit(50, ['import', '-'], '< urls.csv');
  expect(full.stderr).toMatch(
    /error: The temporary folder \S+ can't be written: files may not become so large here/,
  );
  expect(full.exitCode).toBe(1);
});

test('a folder that can’t be written, before anything is sent', async () => {
  for (const [option, path] of [
    ['--journal', 'urls.csv/journal'],
    ['--output', 'missing/results.csv'],
  ] as const) {
    const run = await world.cli(key, [...ARGS, option, path]);
    expect(run.stderr).toMatch(new RegExp(`error: ${path} can't be written: .*\\n  Name another`));
    expect(run.exitCode).toBe(2);
  }
  expect(await linksUsed()).toBe(0);
});

test.each([
  ['is cut short', () => truncate(world.path('urls.csv'), 100)],
  ['disappears', () => rename(world.path('urls.csv'), world.path('elsewhere.csv'))],
  ['is replaced', () => writeFile(world.path('urls.csv'), 'url\nhttps://example.com/other\n')],
])('an input that %s while it is sent ends the import', async (_, change) => {
  const importing = world.cli(key, [...ARGS, '--concurrency', '1', '--rpm', '60']);
  // The usage of an account can be read 60 times a minute.
  while ((await linksUsed()) === 0) await sleep(600);
  await change();
  const run = await importing;
  expect(run.stderr).toMatch(
    /error: urls\.csv (was changed|was removed) while it was being imported/,
  );
  expect(run.exitCode).toBe(2);
  expect(await linksUsed()).toBeLessThan(ROWS);
});

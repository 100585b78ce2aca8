import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { parseCsv } from '../src/parse-csv.ts';
import { World } from '../src/world.ts';

let world: World;
let key: string;
let accountId: string;

beforeAll(async () => {
  world = await World.create();
});
beforeEach(async () => {
  await world.newFolder();
  const { account, ...caller } = await world.caller('custom');
  key = caller.key;
  accountId = account.id;
});
afterAll(() => world[Symbol.asyncDispose]());

/** Read from the database, since the usage endpoint allows 60 requests a minute. */
const linksUsed = async () => (await (await world.store()).usage(accountId, Date.now())).links.used;

test('a plan limit in the middle stops cleanly with exit 5 and loses nothing', async () => {
  const { key: pro } = await world.caller('pro');
  const lines = Array.from({ length: 1_250 }, (_, i) => `https://example.com/${i}`);
  await writeFile(world.path('urls.txt'), lines.join('\n'));
  const run = await world.cli(pro, ['import', 'urls.txt']);
  expect(run.exitCode, run.stderr).toBe(5);
  expect(run.stderr).toMatch(/upgrade|plan/i);
  const [, ...rows] = parseCsv(await readFile(world.path('urls.txt.results.csv'), 'utf8'));
  const statuses = rows.map((row) => row.at(-3));
  expect(statuses.filter((status) => status === 'created')).toHaveLength(1_000);
  expect(statuses).toHaveLength(1_250);
  const usage = await world.request(pro, 'GET', '/api/v1/usage');
  expect(usage.json.links.used).toBe(1_000);
});

test('the server killed in the middle of an import and started again: every row exactly once', async () => {
  const lines = Array.from({ length: 12_000 }, (_, i) => `https://example.com/${i}`);
  await writeFile(world.path('urls.txt'), lines.join('\n'));
  const args = ['import', 'urls.txt', '--idempotency', '--batch-size', '1000'];
  const first = world.cli(key, args);
  await expect.poll(linksUsed, { interval: 20 }).toBeGreaterThan(1_000);
  await world.server.stop('SIGKILL');
  await world.restart();
  const { exitCode } = await first;
  if (exitCode !== 0) {
    const second = await world.cli(key, args);
    expect(second.exitCode, second.stderr).toBe(0);
  }
  expect(await linksUsed()).toBe(12_000);
  const [, ...rows] = parseCsv(await readFile(world.path('urls.txt.results.csv'), 'utf8'));
  expect(rows.map((row) => row[0])).toEqual(lines);
  expect(new Set(rows.map((row) => row[1])).size).toBe(12_000);
});

import type { ChildProcess } from 'node:child_process';
import { readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { cliHere } from '../src/cli-here.ts';
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

const writeRows = (rows: number, name = 'links.csv') => {
  const lines = Array.from({ length: rows }, (_, n) => `https://example.com/${n},Page ${n}\n`);
  return writeFile(world.path(name), `url,title\n${lines.join('')}`);
};

/** The short URL of each target. */
async function linksIn(name: string): Promise<Map<string, string>> {
  const [header = [], ...rows] = parseCsv(await readFile(world.path(name), 'utf8'));
  const [url, status] = [header.indexOf('short_url'), header.indexOf('status')];
  expect(new Set(rows.map((row) => row[status]))).toEqual(new Set(['created']));
  return new Map(rows.map((row) => [row[0] ?? '', row[url] ?? '']));
}

const lose = (...names: string[]) => Promise.all(names.map((name) => rm(world.path(name))));
const JOURNAL = 'links.csv.shortlink-journal';
const RESULTS = 'links.csv.results.csv';

interface Loss {
  lose: () => Promise<unknown>;
  /** The name of the input afterwards. */
  name?: string;
  inPlace?: boolean;
}

// One of each kind, with the real service and files. The others are in the tests of the import (`packages/cli/test/import`).
test.each<[string, Loss]>([
  ['the journal and the results', { lose: () => lose(JOURNAL, RESULTS) }],
  [
    'its name',
    { lose: () => rename(world.path('links.csv'), world.path('week-2.csv')), name: 'week-2.csv' },
  ],
  // The next checkout has the file as it was before, and no journal.
  ['what CI wrote into it', { lose: () => world.newFolder(), inPlace: true }],
])('40 rows, then %s lost, and one row more: 41 links for 41 targets', async (_, loss) => {
  const { name = 'links.csv', inPlace = false } = loss;
  const options = inPlace ? ['--in-place'] : [];
  const resultsOf = (input: string) => (inPlace ? input : `${input}.results.csv`);
  await writeRows(40);
  const first = await cliHere(world, key, ['import', world.path('links.csv'), ...options]);
  expect(first.exitCode, first.stderr).toBe(0);
  const before = await linksIn(resultsOf('links.csv'));

  await loss.lose();
  await writeRows(41, name);
  const second = await world.cli(key, ['import', name, ...options, '--json']);
  expect(second.exitCode, second.stderr).toBe(0);
  expect(JSON.parse(second.stdout)).toMatchObject({ created: 1, existing: 40, unknown: 0 });
  expect(await linksUsed()).toBe(41);
  const after = await linksIn(resultsOf(name));
  expect([...after].slice(0, 40)).toEqual([...before]);
  expect(new Set(after.values()).size).toBe(41);
});

/** Forwards to the server. The first batch of links is carried out, but its sender is killed before it gets the response. */
async function killingProxy(sender: () => ChildProcess | undefined) {
  let isKilled = false;
  const proxy = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { host, connection, 'content-length': length, ...headers } = request.headers;
    const answer = await fetch(world.server.url + request.url, {
      method: request.method ?? 'GET',
      headers: headers as Record<string, string>,
      ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
    });
    const body = await answer.text();
    if (!isKilled && request.method === 'POST' && request.url?.endsWith('/batch')) {
      isKilled = true;
      sender()?.kill('SIGKILL');
      request.socket.destroy();
      return;
    }
    const type = answer.headers.get('content-type') ?? 'application/json';
    response.writeHead(answer.status, { 'content-type': type }).end(body);
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const { port } = proxy.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}

test.each([
  ['sent again under its key', [], []],
  ['looked up', ['--no-idempotency'], []],
  ['looked up, with the journal lost', [], [JOURNAL]],
])(
  'killed with a batch in flight, which is %s: 41 links for 41 targets',
  async (_, options, lost) => {
    let running: ChildProcess | undefined;
    await using proxy = await killingProxy(() => running);
    const env = { SHORTLINK_BASE_URL: proxy.url };
    await writeRows(41);
    const args = ['import', 'links.csv', '--concurrency', '1', '--batch-size', '10', ...options];
    const onStart = (child: ChildProcess) => {
      running = child;
    };
    const first = await world.cli(key, args, { env, onStart });
    expect(first.signal).toBe('SIGKILL');
    expect(await linksUsed()).toBe(10);

    await lose(...lost);
    const second = await world.cli(key, [...args, '--json'], { env });
    expect(second.exitCode, second.stderr).toBe(0);
    expect(JSON.parse(second.stdout)).toMatchObject({ unknown: 0, unsent: 0 });
    expect(await linksUsed()).toBe(41);
    expect(new Set((await linksIn(RESULTS)).values()).size).toBe(41);
  },
);

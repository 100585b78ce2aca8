import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { freePort } from '../../server/test/free-port.ts';
import { cliHere } from '../src/cli-here.ts';
import { parseCsv } from '../src/parse-csv.ts';
import { World } from '../src/world.ts';

let world: World;
let key: string;

beforeAll(async () => {
  world = await World.create();
});
beforeEach(async () => {
  await world.newFolder();
  ({ key } = await world.caller('custom'));
});
afterAll(() => world[Symbol.asyncDispose]());

/** Where links lead: pages that are there, and pages that are dead in every way. */
async function pages(): Promise<string> {
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    if (path.startsWith('/gone')) response.writeHead(404).end();
    else if (path.startsWith('/broken')) response.writeHead(500).end();
    else if (path.startsWith('/circle')) response.writeHead(302, { Location: path }).end();
    else if (path.startsWith('/file')) response.writeHead(302, { Location: 'file:///x' }).end();
    else if (path.startsWith('/reset')) request.socket.destroy();
    else if (!path.startsWith('/silent')) response.writeHead(200).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const PLANTED = 27;

test(`${PLANTED} planted faults are found, and nothing else; no click is counted, and no key is needed`, async () => {
  const site = await pages();
  const nobody = `http://127.0.0.1:${await freePort()}`;
  const dead = ['gone', 'broken', 'circle', 'file', 'reset', 'silent'].map(
    (name) => `${site}/${name}`,
  );
  const targets = [
    ...Array.from({ length: 200 }, (_, index) => `${site}/page?n=${index}#part`),
    ...dead,
    `${nobody}/page`,
  ];
  await writeFile(world.path('links.csv'), `url\n${targets.join('\n')}\n`);
  expect(await cliHere(world, key, ['import', world.path('links.csv')])).toMatchObject({
    exitCode: 0,
  });
  const [header = [], ...rows] = parseCsv(
    await readFile(world.path('links.csv.results.csv'), 'utf8'),
  );
  expect(header.slice(0, 3)).toEqual(['url', 'code', 'short_url']);

  const expected = new Map<number, string>();
  const plant = (row: number, finding: string, change: (cells: string[]) => void = () => {}) => {
    change(rows[row] ?? []);
    expected.set(row, finding);
  };
  const target = (edit: (url: string) => string) => (cells: string[]) => {
    cells[0] = edit(cells[0] ?? '');
  };
  const short = (edit: (url: string) => string) => (cells: string[]) => {
    cells[2] = edit(cells[2] ?? '');
  };
  plant(
    1,
    'wrong_target',
    target((url) => url.replace('/page', '/pages')),
  );
  plant(
    5,
    'wrong_target',
    target((url) => url.replace('n=', 'N=')),
  );
  plant(
    9,
    'wrong_target',
    target((url) => url.replace('#part', '')),
  );
  plant(
    13,
    'wrong_target',
    target((url) => url.replace('http:', 'https:')),
  );
  plant(
    17,
    'wrong_target',
    target((url) => url.replace('127.0.0.1', 'localhost')),
  );
  plant(
    21,
    'invalid_row',
    target(() => ''),
  );
  plant(
    25,
    'invalid_row',
    target((url) => url.slice('http://'.length)),
  );
  plant(
    29,
    'not_found',
    short((url) => url.slice(0, -1)),
  );
  plant(
    33,
    'not_found',
    short((url) => `${url}/`),
  );
  plant(
    37,
    'not_found',
    short((url) => url.replace(/[^/]+$/, 'zzzzzzz')),
  );
  plant(
    41,
    'not_found',
    short((url) => url.replace(/[^/]+$/, '')),
  );
  // One letter retyped, and the short URLs of two rows exchanged.
  plant(
    40,
    'not_found',
    short((url) => url.slice(0, -1) + (url.endsWith('k') ? 'm' : 'k')),
  );
  const [one = [], other = []] = [rows[42], rows[43]];
  [one[2], other[2]] = [other[2] ?? '', one[2] ?? ''];
  plant(42, 'wrong_target');
  plant(43, 'wrong_target');
  plant(45, 'gone');
  plant(
    49,
    'unreachable',
    short((url) => url.replace(world.server.url, nobody)),
  );
  plant(
    53,
    'unreachable',
    short((url) => url.replace('127.0.0.1', 'nobody.invalid')),
  );
  plant(
    57,
    'tls_error',
    short((url) => url.replace('http:', 'https:')),
  );
  plant(
    61,
    'no_redirect',
    short((url) => url.replace(/[^/]+$/, 'healthz')),
  );
  // Another service, which answers everything with a page.
  plant(
    65,
    'no_redirect',
    short((url) => url.replace(world.server.url, site)),
  );
  for (const index of dead.keys()) plant(200 + index, 'dead_target');
  plant(206, 'dead_target');
  expect(expected.size).toBe(PLANTED);
  await (await world.store()).setLinkActive(rows[45]?.[1] ?? '', false);
  const edited = [header, ...rows].map((cells) => cells.join(',')).join('\n');
  await writeFile(world.path('edited.csv'), `${edited}\n`);

  const args = ['verify', 'edited.csv', '--targets', '--allow-private', '--timeout', '2s'];
  const env = { SHORTLINK_API_KEY: undefined, SHORTLINK_BASE_URL: undefined };
  const run = await world.cli(key, [...args, '--max-retries', '0', '--json'], { env });
  expect(run.exitCode, run.stderr).toBe(3);
  expect(run.stderr + run.stdout).not.toContain(key);
  const [, ...report] = parseCsv(await readFile(world.path('edited.csv.verify.csv'), 'utf8'));
  const found = report.map((cells) => cells[header.length]);
  const wanted = rows.map((_, row) => expected.get(row) ?? 'ok');
  expect(found).toEqual(wanted);
  expect(JSON.parse(run.stdout).files).toEqual([
    expect.objectContaining({ links: 207, ok: 207 - PLANTED, wrong: PLANTED }),
  ]);
  for (const row of [0, 45, 200]) {
    expect(await world.linkByCode(rows[row]?.[1] ?? '')).toMatchObject({ click_count: 0 });
  }
});

test('links of an old host are right on the new server before DNS leads to it', async () => {
  await writeFile(
    world.path('links.csv'),
    'url\nhttps://example.com/ü?a=b%20c\nhttps://example.com/2\n',
  );
  const imported = await cliHere(world, key, ['import', world.path('links.csv'), '--in-place']);
  expect(imported.exitCode, imported.stderr).toBe(0);
  const filled = await readFile(world.path('links.csv'), 'utf8');
  await writeFile(world.path('old.csv'), filled.replaceAll(world.server.url, 'http://old.example'));
  const resolve = ['--resolve', new URL(world.server.url).host];
  const run = await world.cli(key, ['verify', 'old.csv', ...resolve]);
  expect(run.exitCode, run.stderr).toBe(0);
  expect(run.stderr).toContain('All 2 short URLs lead to their targets');
});

test('links of a custom domain are right on their own host only', async () => {
  const { account, ...caller } = await world.caller('custom');
  const hostname = 'go.example.com';
  const domain = await (await world.store()).addDomain({
    hostname,
    accountId: account.id,
    now: Date.now(),
  });
  await writeFile(world.path('links.csv'), 'url\nhttps://example.com/1\nhttps://example.com/2\n');
  const imported = await cliHere(world, caller.key, [
    ...['import', world.path('links.csv'), '--in-place', '--domain', domain?.id ?? ''],
  ]);
  expect(imported.exitCode, imported.stderr).toBe(0);
  const filled = await readFile(world.path('links.csv'), 'utf8');
  expect(filled).toContain(hostname);
  // The server speaks no TLS itself.
  const lines = filled.replaceAll('https://go.', 'http://go.').trimEnd().split('\n');
  lines[2] = lines[2]?.replace(hostname, 'went.example.com') ?? '';
  await writeFile(world.path('links.csv'), `${lines.join('\n')}\n`);
  const resolve = ['--resolve', new URL(world.server.url).host];
  const run = await world.cli(caller.key, ['verify', 'links.csv', ...resolve, '--json']);
  expect(run.exitCode, run.stderr).toBe(3);
  const [file] = JSON.parse(run.stdout).files;
  expect(file).toMatchObject({ ok: 1, wrong: 1, problems: [{ line: 3 }] });
});

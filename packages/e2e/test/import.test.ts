import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { parseCsv } from '../src/parse-csv.ts';
import { World } from '../src/world.ts';

const SITES = fileURLToPath(
  new URL('../../../examples/data/us-federal-sites.csv', import.meta.url),
);
const SITES_MAP = ['--map', 'target_url=URL', '--map', 'title=Domain', '--map', 'tags=Agency'];
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

test('the federal sites: 24,638 rows, each created exactly once, results in order', async () => {
  const output = world.path('results.csv');
  const args = ['import', SITES, ...SITES_MAP, '-o', output, '--journal', world.path('journal')];
  const run = await world.cli(key, [...args, '--json']);
  expect(run.stderr + run.stdout).not.toContain(key);
  expect(run.exitCode, run.stderr).toBe(0);
  expect(JSON.parse(run.stdout)).toMatchObject({
    rows: 24_638,
    created: 24_638,
    rejected: 0,
    failed: 0,
    unknown: 0,
  });
  expect(await linksUsed()).toBe(24_638);

  const [inputHeader, ...input] = parseCsv(await readFile(SITES, 'utf8'));
  const [header, ...results] = parseCsv(await readFile(output, 'utf8'));
  const added = ['code', 'short_url', 'status', 'error', 'made_for'];
  expect(header).toEqual([...(inputHeader ?? []), ...added]);
  expect(results.map((row) => row.slice(0, 5))).toEqual(input);
  expect(new Set(results.map((row) => row[5])).size).toBe(24_638);
  expect(new Set(results.map((row) => row[7]))).toEqual(new Set(['created']));
  for (const row of results) expect(row[9]).toMatch(/^x?[0-9a-f]{8}$/);

  for (const index of [0, 9_999, 10_000, 20_000, 24_637]) {
    const [domain, , url, agency, , code = '', shortUrl = ''] = results[index] ?? [];
    expect(shortUrl).toBe(`${world.server.url}/${code}`);
    const redirect = await fetch(shortUrl, { redirect: 'manual' });
    expect(redirect.headers.get('location')).toBe(url);
    const link = await world.linkByCode(code);
    expect(link).toMatchObject({ target_url: url, title: domain });
    expect(link.tags.join(', ')).toBe((agency ?? '').split(/\s*[,;|]\s*/).join(', '));
  }

  const again = await world.cli(key, args);
  expect(again.exitCode, again.stderr).toBe(0);
  expect(await linksUsed()).toBe(24_638);
});

describe('a small messy file', () => {
  const MESSY = [
    '\ufeffLong URL;Title;Labels',
    'https://example.com/one;"Title; with ""quotes""\r\nand two lines";a|b',
    '',
    'not a url;bad;',
    'ftp://example.com/;also bad;',
    'https://example.com/zwei;Größe 😀;',
    ';no target;x',
    `https://example.com/long;${'t'.repeat(256)};`,
    'https://user:pw@example.com/;credentials;',
    'https://example.com/last;=HYPERLINK("http://evil");',
  ].join('\r\n');
  const args = ['import', 'messy.csv', '--map', 'tags=Labels'];

  test('stops before sending when rows are bad, with line and reason', async () => {
    await writeFile(world.path('messy.csv'), MESSY);
    const run = await world.cli(key, args);
    expect(run.exitCode).toBe(2);
    expect(await linksUsed()).toBe(0);
    const [header, ...rejects] = parseCsv(
      await readFile(world.path('messy.csv.rejects.csv'), 'utf8'),
      ';',
    );
    expect(header).toEqual(['Long URL', 'Title', 'Labels', 'line', 'reason']);
    expect(rejects.map((row) => row[3])).toEqual(['5', '6', '8', '9', '10']);
    for (const row of rejects) expect(row[4]).toMatch(/\w+ \w+/);
  });

  test('--max-rejects all sends the good ones and exits 3', async () => {
    await writeFile(world.path('messy.csv'), MESSY);
    const run = await world.cli(key, [...args, '--max-rejects', 'all']);
    expect(run.exitCode, run.stderr).toBe(3);
    expect(await linksUsed()).toBe(3);
    const text = await readFile(world.path('messy.csv.results.csv'), 'utf8');
    const [, ...results] = parseCsv(text, ';');
    expect(results.map((row) => row[5])).toEqual([
      'created',
      'rejected',
      'rejected',
      'created',
      'rejected',
      'rejected',
      'rejected',
      'created',
    ]);
    const link = await world.linkByCode(results[0]?.[3] ?? '');
    expect(link).toMatchObject({
      title: 'Title; with "quotes"\r\nand two lines',
      tags: ['a', 'b'],
    });
    expect(results[7]?.[1]).toMatch(/^'=/);
    const last = await world.linkByCode(results[7]?.[3] ?? '');
    expect(last.title).toBe('=HYPERLINK("http://evil")');
  });

  test('--dry-run sends nothing', async () => {
    await writeFile(world.path('messy.csv'), MESSY);
    await world.cli(key, [...args, '--dry-run', '--max-rejects', 'all']);
    expect(await linksUsed()).toBe(0);
  });
});

test('from standard input to standard output', async () => {
  const input = 'url,title\nhttps://example.com/a,A\nhttps://example.com/b,B\n';
  const run = await world.cli(key, ['import', '-'], { input });
  expect(run.exitCode, run.stderr).toBe(0);
  const [header, ...rows] = parseCsv(run.stdout);
  expect(header).toEqual(['url', 'title', 'code', 'short_url', 'status', 'error', 'made_for']);
  expect(rows.map((row) => row[4])).toEqual(['created', 'created']);
});

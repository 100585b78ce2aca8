import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { isNight } from '../src/is-night.ts';
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

/** More than a batch of the largest size; each night it is the whole file. */
const ROWS = isNight ? 24_638 : 10_500;

test(`the federal sites: ${ROWS} rows, each created exactly once, results in order`, async () => {
  const sites = (await readFile(SITES, 'utf8'))
    .split('\n')
    .slice(0, ROWS + 1)
    .join('\n');
  await writeFile(world.path('sites.csv'), sites);
  const output = world.path('results.csv');
  const args = ['import', 'sites.csv', ...SITES_MAP, '-o', output];
  const run = await world.cli(key, [...args, '--journal', world.path('journal'), '--json']);
  expect(run.stderr + run.stdout).not.toContain(key);
  expect(run.exitCode, run.stderr).toBe(0);
  expect(JSON.parse(run.stdout)).toMatchObject({
    rows: ROWS,
    created: ROWS,
    rejected: 0,
    failed: 0,
    unknown: 0,
    batches: Math.ceil(ROWS / 10_000),
  });
  expect(await linksUsed()).toBe(ROWS);

  const [inputHeader, ...input] = parseCsv(sites);
  const [header, ...results] = parseCsv(await readFile(output, 'utf8'));
  const added = ['code', 'short_url', 'status', 'error', 'made_for'];
  expect(header).toEqual([...(inputHeader ?? []), ...added]);
  expect(results.map((row) => row.slice(0, 5))).toEqual(input);
  expect(new Set(results.map((row) => row[5])).size).toBe(ROWS);
  expect(new Set(results.map((row) => row[7]))).toEqual(new Set(['created']));
  expect(results.filter((row) => !/^x?[0-9a-f]{8}$/.test(row[9] ?? ''))).toEqual([]);

  for (const index of [0, 9_999, 10_000, ROWS - 1]) {
    const [domain, , url, agency, , code = '', shortUrl = ''] = results[index] ?? [];
    expect(shortUrl).toBe(`${world.server.url}/${code}`);
    const redirect = await fetch(shortUrl, { redirect: 'manual' });
    expect(redirect.headers.get('location')).toBe(url);
    const link = await world.linkByCode(code);
    expect(link).toMatchObject({ target_url: url, title: domain });
    expect(link.tags.join(', ')).toBe((agency ?? '').split(/\s*[,;|]\s*/).join(', '));
  }

  const again = await world.cli(key, [...args, '--journal', world.path('journal')]);
  expect(again.exitCode, again.stderr).toBe(0);
  expect(await linksUsed()).toBe(ROWS);
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

test('8,600 links of 2,000 characters are more than a request may hold: sent in two', async () => {
  const path = 'a'.repeat(1_960);
  const urls = Array.from({ length: 8_600 }, (_, row) => `https://example.com/${row}/${path}`);
  await writeFile(world.path('urls.txt'), urls.join('\n'));
  const run = await world.cli(key, ['import', 'urls.txt', '--json']);
  expect(run.exitCode, run.stderr).toBe(0);
  expect(run.stderr).toContain('A batch of 8,600 links was refused, the next ones are smaller');
  expect(JSON.parse(run.stdout)).toMatchObject({ created: 8_600, unknown: 0, batches: 2 });
  expect(await linksUsed()).toBe(8_600);
});

/** `pnpm --filter @shortlink/e2e pace` does the same at 60 a minute. */
const REQUESTS_PER_MINUTE = 900;
const BATCHES = 30;
/** Just more than is answered at once, so that each is a job. */
const BATCH_SIZE = 110;

test('--rpm: as fast as the limit allows, with no 429, and at most two polls a batch', async () => {
  const urls = Array.from(
    { length: BATCHES * BATCH_SIZE },
    (_, row) => `https://example.com/${row}`,
  );
  await writeFile(world.path('links.txt'), urls.join('\n'));
  /** Imports all of them with a key of its own, and resolves to the seconds and to the status of each response. */
  const importAll = async (rpm: number | 'unlimited', options: readonly string[]) => {
    const { key } = await world.caller('custom', { rpm });
    const run = await world.cli(key, [
      ...['import', 'links.txt', '--batch-size', String(BATCH_SIZE), '--verbose', '--restart'],
      ...[...options, '-o', 'results.csv', '--json'],
    ]);
    expect(run.exitCode, run.stderr).toBe(0);
    const statuses = [...run.stderr.matchAll(/"message":"response".*"status":(\d+)/g)].map(
      ([, status]) => status,
    );
    return { statuses, seconds: JSON.parse(run.stdout).elapsed_ms / 1000 };
  };

  const unlimited = await importAll('unlimited', []);
  const overhead: number[] = [];
  for (let tries = 0; tries < 3; tries += 1) {
    const paced = ['--rpm', String(REQUESTS_PER_MINUTE)];
    const { statuses, seconds } = await importAll(REQUESTS_PER_MINUTE, paced);
    expect(new Set(statuses)).toEqual(new Set(['200', '202']));
    expect(statuses.length).toBeLessThanOrEqual(3 * BATCHES);
    const arithmetic = ((statuses.length - 1) * 60) / REQUESTS_PER_MINUTE;
    expect(seconds).toBeGreaterThan(arithmetic * 0.95);
    overhead.push(seconds - arithmetic * 1.05);
    // The first poll, the file and the journal come on top: on this machine, at most what the import takes without a limit. Where
    // other programs have held up one import, the next one shows how fast it is.
    if (Math.min(...overhead) < Math.max(1.5, unlimited.seconds)) return;
  }
  expect.fail(`slower than the limit allows, by seconds: ${overhead}`);
});

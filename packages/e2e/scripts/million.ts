/**
 * Imports a million links through the CLI into three servers on one PostgreSQL, follows some of them, and prints how long the
 * import took, how large a link is, and what a request costs then. With `--write` the page about sizing shows these figures.
 * Run: `pnpm --filter @shortlink/e2e million [rows] [--write]`.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { parseArgs } from 'node:util';
import { Client } from 'pg';
import { recordSizing } from '../../bench/src/frame/figures.ts';
import type { Cpu, Sizing } from '../../bench/src/frame/format.ts';
import { describeMachine } from '../../bench/src/frame/format.ts';
import { type PostgresProcess, startPostgres } from '../../server/test/start-postgres.ts';
import { type Cluster, startCluster } from '../src/cluster.ts';
import { CLI_PROGRAM } from '../src/programs.ts';
import { runProgram } from '../src/run-program.ts';
import { admin } from '../src/server-process.ts';
import { wholeNumber } from '../src/whole-number.ts';
import type { KeyRow } from '../src/world.ts';
import { cpuSeconds } from './cpu-time.ts';
import { repeat } from './repeat.ts';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { write: { type: 'boolean', default: false } },
});
const ROWS = wholeNumber('rows', positionals[0] ?? '1000000');
const SPOT_CHECKS = 1_000;
const LOAD = { seconds: 10, concurrency: 32 };

const targetOf = (row: number) => `https://example.com/catalogue/products/${row}?ref=newsletter`;

const machine = describeMachine();
const folder = await mkdtemp(join(tmpdir(), 'shortlink-million-'));
const postgres = await startPostgres(['max_wal_size=4GB']);
const cluster = await startCluster({ database: postgres.url });
try {
  const figures = await load(folder, postgres, cluster);
  console.log(figures);
  if (values.write) await recordSizing('million', figures, machine);
} finally {
  await cluster.stop();
  await postgres.remove();
  await rm(folder, { recursive: true, force: true });
}

async function load(
  folder: string,
  postgres: PostgresProcess,
  cluster: Cluster,
): Promise<Omit<Sizing['million'], 'machine'>> {
  const key = await newKey(postgres.url);
  const file = join(folder, 'links.csv');
  await pipeline(Readable.from(rows()), createWriteStream(file));

  const servers = cluster.servers.flatMap(({ child }) => child.pid ?? []);
  const database = [await postgres.pid()];
  const usedBefore = await cpuOf(servers, database);
  const startedAt = performance.now();
  const result = await runProgram(CLI_PROGRAM, ['import', file, '--json'], {
    cwd: folder,
    env: {
      SHORTLINK_API_KEY: key,
      SHORTLINK_BASE_URL: cluster.url,
      XDG_CONFIG_HOME: join(folder, 'config'),
      CI: '1',
    },
  });
  const seconds = (performance.now() - startedAt) / 1_000;
  if (result.exitCode !== 0)
    throw new Error(`import ended with ${result.exitCode}: ${result.stderr}`);
  const link = perRequest(usedBefore, await cpuOf(servers, database), ROWS);
  const codes = await checkResults(`${file}.results.csv`);
  const bytes = await measureLinks(postgres.url);
  const requests = await measureRequests({ key, cluster, servers, database }, codes);
  return { rows: ROWS, seconds, bytes, link, ...requests };
}

/** Processor time that the processes have used so far, in seconds. */
async function cpuOf(servers: readonly number[], database: readonly number[]): Promise<Cpu> {
  return { servers: await cpuSeconds(servers), database: await cpuSeconds(database) };
}

/** Processor time of each request, in microseconds. */
function perRequest(before: Cpu, after: Cpu, requests: number): Cpu {
  return {
    servers: ((after.servers - before.servers) / requests) * 1e6,
    database: ((after.database - before.database) / requests) * 1e6,
  };
}

async function newKey(database: string): Promise<string> {
  const account = await admin<{ id: string }>(database, [
    ...['accounts', 'create', '--init', '--name', 'million', '--plan', 'custom'],
  ]);
  return (await admin<KeyRow>(database, ['keys', 'create', '--account', account.id])).key;
}

function* rows(): Generator<string> {
  yield 'target_url,title\n';
  for (let row = 0; row < ROWS; row += 1) yield `${targetOf(row)},Product ${row}\n`;
}

/** The result file has every row in order, each created under a code of its own; some of them are followed. */
async function checkResults(file: string): Promise<string[]> {
  const codes = new Set<string>();
  const followed: Promise<void>[] = [];
  let row = -1;
  for await (const line of createInterface({ input: createReadStream(file) })) {
    if (row >= 0) {
      const [target, , code = '', shortUrl = '', status] = line.split(',');
      if (target !== targetOf(row) || status !== 'created') throw new Error(`row ${row}: ${line}`);
      codes.add(code);
      if (Math.random() < SPOT_CHECKS / ROWS) followed.push(follow(shortUrl, target));
    }
    row += 1;
  }
  if (row !== ROWS || codes.size !== ROWS) throw new Error(`${row} rows, ${codes.size} codes`);
  await Promise.all(followed);
  return [...codes];
}

async function follow(shortUrl: string, target: string): Promise<void> {
  const answer = await fetch(shortUrl, { redirect: 'manual' });
  const location = answer.headers.get('location');
  if (location !== target) throw new Error(`${shortUrl} leads to ${location}, not to ${target}`);
}

/** Bytes of a link in the table and in its indexes. */
async function measureLinks(url: string): Promise<{ table: number; index: number }> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('VACUUM ANALYZE links');
  const { rows: sizes } = await client.query<{ links: string; table: string; index: string }>(
    `SELECT (SELECT count(*) FROM links) AS links, pg_table_size('links') AS table,
       pg_indexes_size('links') AS index`,
  );
  await client.end();
  const [size] = sizes;
  if (size === undefined || Number(size.links) !== ROWS) throw new Error(`${size?.links} links`);
  const ofLink = (bytes: string) => Math.round(Number(bytes) / ROWS);
  return { table: ofLink(size.table), index: ofLink(size.index) };
}

interface Load {
  key: string;
  cluster: Cluster;
  servers: number[];
  database: number[];
}

async function measureRequests(load: Load, codes: readonly string[]) {
  const create = { target_url: targetOf(0), title: 'Product' };
  const headers = { 'X-Api-Key': load.key, 'Content-Type': 'application/json' };
  const post = (path: string, body: unknown) =>
    fetch(load.cluster.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const get = (path: string) => fetch(load.cluster.url + path, { redirect: 'manual' });
  return {
    cachedRedirect: await measure(load, 302, () => get(`/${codes[0]}`)),
    otherRedirect: await measure(load, 302, (n) => get(`/${codes[n % codes.length]}`)),
    create: await measure(load, 201, () => post('/api/v1/links', create)),
  };
}

/** @param status - the status that each response must have */
async function measure(
  { servers, database }: Load,
  status: number,
  request: (count: number) => Promise<Response>,
): Promise<Cpu> {
  const usedBefore = await cpuOf(servers, database);
  const requests = await repeat(LOAD, async (count) => {
    const response = await request(count);
    await response.arrayBuffer();
    if (response.status !== status) throw new Error(`a response has the status ${response.status}`);
  });
  return perRequest(usedBefore, await cpuOf(servers, database), requests);
}

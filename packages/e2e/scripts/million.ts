/**
 * Imports a million links through the CLI into three servers on one PostgreSQL, looks at some of them, and prints how long it
 * took, how large it is, and what a request costs then. Run: `pnpm --filter @shortlink/e2e million [rows]`.
 */
import { createReadStream, createWriteStream } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Client } from 'pg';
import { type PostgresProcess, startPostgres } from '../../server/test/start-postgres.ts';
import { type Cluster, startCluster } from '../src/cluster.ts';
import { CLI_PROGRAM } from '../src/programs.ts';
import { runProgram } from '../src/run-program.ts';
import { admin } from '../src/server-process.ts';
import type { KeyRow } from '../src/world.ts';
import { cpuSeconds } from './cpu-time.ts';
import { repeat } from './repeat.ts';

const ROWS = Number(process.argv[2] ?? 1_000_000);
const SPOT_CHECKS = 1_000;
const LOAD = { seconds: 10, concurrency: 32 };

const targetOf = (row: number) => `https://example.com/catalogue/products/${row}?ref=newsletter`;

const folder = await mkdtemp(join(tmpdir(), 'shortlink-million-'));
const postgres = await startPostgres(['max_wal_size=4GB']);
const cluster = await startCluster({ database: postgres.url });
try {
  await load(folder, postgres, cluster);
} finally {
  await cluster.stop();
  await postgres.remove();
  await rm(folder, { recursive: true, force: true });
}

async function load(folder: string, postgres: PostgresProcess, cluster: Cluster): Promise<void> {
  const key = await newKey(postgres.url);
  const file = join(folder, 'links.csv');
  await pipeline(Readable.from(rows()), createWriteStream(file));

  const servers = cluster.servers.flatMap(({ child }) => child.pid ?? []);
  const database = [await postgres.pid()];
  const before = [await cpuSeconds(servers), await cpuSeconds(database)] as const;
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
  const perLink = (used: number) => `${((used / ROWS) * 1e6).toFixed(0)} µs`;
  console.log(
    `${ROWS} links imported in ${seconds.toFixed(1)} s, ${Math.round(ROWS / seconds)} a second`,
  );
  console.log(
    `CPU per link: servers ${perLink((await cpuSeconds(servers)) - before[0])}, PostgreSQL ${perLink((await cpuSeconds(database)) - before[1])}`,
  );

  const codes = await checkResults(`${file}.results.csv`);
  await printSizes(postgres.url);
  await measureRequests({ key, cluster, servers, database }, codes);
}

async function newKey(database: string): Promise<string> {
  const account = await admin<{ id: string }>(database, [
    ...['accounts', 'create', '--name', 'million', '--plan', 'custom'],
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
  console.log(
    `${row} results in order, each with its own code; ${followed.length} of them followed`,
  );
  return [...codes];
}

async function follow(shortUrl: string, target: string): Promise<void> {
  const answer = await fetch(shortUrl, { redirect: 'manual' });
  const location = answer.headers.get('location');
  if (location !== target) throw new Error(`${shortUrl} leads to ${location}, not to ${target}`);
}

async function printSizes(url: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('VACUUM ANALYZE links');
  const { rows: sizes } = await client.query<{
    links: string;
    heap: string;
    index: string;
    all: string;
  }>(
    `SELECT (SELECT count(*) FROM links) AS links, pg_table_size('links') AS heap,
       pg_indexes_size('links') AS index, pg_database_size(current_database()) AS all`,
  );
  await client.end();
  const [size] = sizes;
  if (size === undefined || Number(size.links) !== ROWS) throw new Error(`${size?.links} links`);
  const perLink = (bytes: string) => `${Math.round(Number(bytes) / ROWS)} bytes`;
  const megabytes = (bytes: string) => `${Math.round(Number(bytes) / 1e6)} MB`;
  console.log(`a link takes ${perLink(size.heap)} and ${perLink(size.index)} of index`);
  console.log(
    `the database takes ${megabytes(size.all)}, with the results of the jobs, which are deleted after a week`,
  );
}

interface Load {
  key: string;
  cluster: Cluster;
  servers: number[];
  database: number[];
}

async function measureRequests(load: Load, codes: readonly string[]): Promise<void> {
  const create = { target_url: targetOf(0), title: 'Product' };
  const headers = { 'X-Api-Key': load.key, 'Content-Type': 'application/json' };
  const post = (path: string, body: unknown) =>
    fetch(load.cluster.url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  const get = (path: string) => fetch(load.cluster.url + path, { redirect: 'manual' });
  await measure('a redirect of a link that is cached', load, 302, () => get(`/${codes[0]}`));
  await measure('a redirect of a link that is not', load, 302, (n) =>
    get(`/${codes[n % codes.length]}`),
  );
  await measure('a create', load, 201, () => post('/api/v1/links', create));
}

async function measure(
  what: string,
  { servers, database }: Load,
  status: number,
  request: (count: number) => Promise<Response>,
): Promise<void> {
  const before = [await cpuSeconds(servers), await cpuSeconds(database)] as const;
  const requests = await repeat(LOAD, async (count) => {
    const answer = await request(count);
    await answer.arrayBuffer();
    if (answer.status !== status) throw new Error(`${what} was answered with ${answer.status}`);
  });
  const micros = (used: number) => `${Math.round((used / requests) * 1e6)} µs`;
  const used = [
    (await cpuSeconds(servers)) - before[0],
    (await cpuSeconds(database)) - before[1],
  ] as const;
  const rate = Math.round(requests / LOAD.seconds);
  console.log(
    `${what}: CPU ${micros(used[0])} in the servers, ${micros(used[1])} in PostgreSQL (at ${rate}/s)`,
  );
}

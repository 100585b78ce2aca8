import { ServerError, Shortlink } from '@shortlink/sdk';
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { type PostgresProcess, startPostgres } from '../../server/test/start-postgres.ts';
import { type Cluster, startCluster } from '../src/cluster.ts';
import { type DatabaseProxy, startDatabaseProxy } from '../src/database-proxy.ts';
import type { Store } from '../src/inner-server.ts';
import { type Limits, newCaller, openDatabase } from '../src/operator.ts';

const LINKS = '/api/v1/links';
const BATCH = '/api/v1/links/batch';

let postgres: PostgresProcess;
let proxy: DatabaseProxy;
let cluster: Cluster;
/** The database itself, past the proxy: as the servers see it, and one connection. */
let store: Store;
let direct: Client;

// Three instances whose way to the database is a proxy that tests disturb.
beforeAll(async () => {
  postgres = await startPostgres();
  proxy = await startDatabaseProxy(postgres.url);
  cluster = await startCluster({ database: proxy.url });
  store = await openDatabase(postgres.url, cluster.url);
  direct = new Client({ connectionString: postgres.url });
  await direct.connect();
});
afterAll(async () => {
  await direct.end();
  await store.close();
  await cluster.stop();
  await proxy.close();
  await postgres.remove();
});

// What one test did to the database is over for every instance before the next begins.
beforeEach(async () => {
  const { key } = await newAccount();
  await expect.poll(() => works(key)).toBe(true);
});

afterEach(() => {
  proxy.hang(false);
  proxy.delay(0);
});

async function newAccount(limits?: Limits): Promise<{ id: string; key: string }> {
  const { account, key } = await newCaller(store, 'custom', limits);
  return { id: account.id, key };
}

function post(key: string, path: string, body: object, server = 0): Promise<Response> {
  return fetch((cluster.servers[server % 3] ?? cluster).url + path, {
    method: 'POST',
    headers: { 'X-Api-Key': key, 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
}

async function storedTargets(accountId: string): Promise<string[]> {
  const links = 'SELECT target_url FROM links WHERE account_id = $1';
  const { rows } = await direct.query<{ target_url: string }>(links, [accountId]);
  return rows.map(({ target_url }) => target_url).toSorted();
}

async function storedCount(accountId: string): Promise<number> {
  const count = 'SELECT count(*)::int AS count FROM links WHERE account_id = $1';
  return (await direct.query<{ count: number }>(count, [accountId])).rows[0]?.count ?? 0;
}

async function works(key: string): Promise<boolean> {
  const answers = await Promise.all(
    [0, 1, 2].map((server) => post(key, LINKS, { target_url: 'https://example.com/' }, server)),
  );
  return answers.every((answer) => answer.status === 201);
}

const databaseUp = async (server: number) => {
  const text = await (await fetch(`${cluster.servers[server]?.url}/metrics`)).text();
  return /^shortlink_database_up (\d)$/m.exec(text)?.[1];
};

test('a database that hangs: a clean 503 for what needs it, the rest continues, and everything recovers by itself', async () => {
  const { key } = await newAccount();
  const created = await post(key, LINKS, { target_url: 'https://example.com/known' });
  const { code } = JSON.parse(await created.text());
  const follow = (path: string) =>
    fetch(`${cluster.servers[0]?.url}/${path}`, { redirect: 'manual' });
  expect((await follow(code)).status).toBe(302);

  proxy.hang(true);
  const calls = Array.from({ length: 60 }, (_, n) =>
    n % 2 === 0
      ? post(key, LINKS, { target_url: `https://example.com/${n}` }, n)
      : follow(`Abcde${String.fromCharCode(65 + (n % 8), 97 + (n % 8))}`),
  );
  for (const answer of await Promise.all(calls)) {
    expect(answer.status).toBe(503);
    expect(Number(answer.headers.get('Retry-After'))).toBeGreaterThan(0);
  }
  expect((await follow(code)).status).toBe(302);
  for (const server of [0, 1, 2]) expect(await databaseUp(server)).toBe('0');

  proxy.hang(false);
  await expect.poll(() => works(key)).toBe(true);
  for (const server of [0, 1, 2]) {
    await expect.poll(() => databaseUp(server)).toBe('1');
  }
});

test('creates through the SDK while the database hangs: what is acknowledged is stored, once, and nothing else', async () => {
  const { id, key } = await newAccount({ links: 60 });
  const shortlink = new Shortlink({ apiKey: key, baseUrl: cluster.url, maxRetries: 8 });
  const creates = Array.from({ length: 90 }, (_, n) =>
    shortlink.links.create({ target_url: `https://example.com/sdk/${n}` }),
  );
  const settled = Promise.allSettled(creates);
  await expect.poll(() => storedCount(id), { interval: 5 }).toBeGreaterThan(0);
  proxy.hang(true);
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  proxy.hang(false);
  const outcomes = await settled;
  const acknowledged = outcomes.flatMap((outcome) =>
    outcome.status === 'fulfilled' ? [outcome.value.target_url] : [],
  );
  const unknown = outcomes.filter(
    (outcome) =>
      outcome.status === 'rejected' &&
      (ServerError.isInstance(outcome.reason) || outcome.reason.outcome === 'unknown'),
  );
  const stored = await storedTargets(id);
  expect(new Set(stored).size).toBe(stored.length);
  expect(stored).toEqual(expect.arrayContaining(acknowledged));
  // The response to a commit with an unknown outcome is 500, after which the SDK doesn't send the request again.
  expect(stored.length - acknowledged.length).toBeLessThanOrEqual(unknown.length);
});

test('one locked row of one account: other accounts and visitors are served meanwhile', async () => {
  const locked = await newAccount();
  const other = await newAccount();
  const created = await post(other.key, LINKS, { target_url: 'https://example.com/other' });
  const { code } = JSON.parse(await created.text());
  const holder = new Client({ connectionString: postgres.url });
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT FROM link_totals WHERE account_id = $1 FOR UPDATE', [locked.id]);
  let ended = false;
  const refused: Response[] = [];
  const stuck = Array.from({ length: 40 }, async (_, n) => {
    while (!ended) {
      refused.push(
        await post(
          locked.key,
          n % 2 === 0 ? LINKS : BATCH,
          n % 2 === 0
            ? { target_url: 'https://example.com/' }
            : { links: [{ target_url: 'https://example.com/' }] },
          n,
        ),
      );
    }
  });
  await expect.poll(() => refused.length).toBeGreaterThan(0);
  let slowestMs = 0;
  for (let n = 0; n < 15; n += 1) {
    const startedAt = performance.now();
    expect(
      (await post(other.key, LINKS, { target_url: `https://example.com/${n}` }, n)).status,
    ).toBe(201);
    expect(
      (await fetch(`${cluster.servers[n % 3]?.url}/${code}`, { redirect: 'manual' })).status,
    ).toBe(302);
    slowestMs = Math.max(slowestMs, performance.now() - startedAt);
  }
  console.log(`slowest create and redirect of others: ${Math.round(slowestMs)} ms`);
  ended = true;
  await Promise.all(stuck);
  expect(new Set(refused.map((answer) => answer.status))).toEqual(new Set([503]));
  await holder.query('ROLLBACK');
  await holder.end();
  expect(await storedTargets(locked.id)).toEqual([]);
  expect((await post(locked.key, LINKS, { target_url: 'https://example.com/' })).status).toBe(201);
});

test('a slow database slows down and fails nothing', async () => {
  const { key } = await newAccount();
  proxy.delay(20);
  const answers = await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      post(key, LINKS, { target_url: `https://example.com/slow/${n}` }, n),
    ),
  );
  proxy.delay(0);
  expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 201));
});

test('U+0000 is 400 wherever it stands, never 500', async () => {
  const { key } = await newAccount();
  const target_url = 'https://example.com/';
  expect((await post(key, LINKS, { target_url, domain_id: '\0' })).status).toBe(400);
  expect((await post(key, BATCH, { domain_id: 'a\0', links: [{ target_url }] })).status).toBe(400);
  expect((await post(key, LINKS, { target_url, title: 'a\0b' })).status).toBe(400);
  const found = await fetch(`${cluster.url}/abc%00def`, { redirect: 'manual' });
  expect(found.status).toBe(404);
});

test('a job that runs while the database hangs is completed afterwards, each link once', async () => {
  const { id, key } = await newAccount();
  const links = Array.from({ length: 5_000 }, (_, n) => ({
    target_url: `https://example.com/job/${n}`,
  }));
  const accepted = await post(key, BATCH, { links });
  expect(accepted.status).toBe(202);
  proxy.hang(true);
  await new Promise((resolve) => setTimeout(resolve, 1_000));
  proxy.hang(false);
  await expect.poll(() => storedCount(id), { interval: 300 }).toBe(5_000);
  expect(new Set(await storedTargets(id)).size).toBe(5_000);
  const failures = cluster
    .log()
    .split('\n')
    .filter((line) => line.includes('looking for unfinished jobs failed'));
  // Each instance logs it at most once a minute, however often it checks.
  expect(failures.length).toBeLessThanOrEqual(3 * 6);
});

test('a server that was killed and one that is paused in the middle of a job: the third one completes it', async () => {
  const { id, key } = await newAccount();
  const links = Array.from({ length: 10_000 }, (_, n) => ({
    target_url: `https://example.com/p/${n}`,
  }));
  const [victim, sleeper] = cluster.servers;
  if (victim === undefined || sleeper === undefined) throw new Error('no servers');
  expect((await post(key, BATCH, { links }, 1)).status).toBe(202);
  await expect.poll(() => storedCount(id), { interval: 5 }).toBeGreaterThan(0);
  sleeper.child.kill('SIGSTOP');
  onTestFinished(() => void sleeper.child.kill('SIGCONT'));
  await victim.stop('SIGKILL');
  await expect.poll(() => storedCount(id), { interval: 300 }).toBe(10_000);
  sleeper.child.kill('SIGCONT');
  await new Promise((resolve) => setTimeout(resolve, 2_000));
  const stored = await storedTargets(id);
  expect(stored).toHaveLength(10_000);
  expect(new Set(stored).size).toBe(10_000);
});

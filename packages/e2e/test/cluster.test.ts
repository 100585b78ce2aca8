import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import {
  POSTGRES_PASSWORD,
  type PostgresProcess,
  startPostgres,
} from '../../server/test/start-postgres.ts';
import { type Cluster, startCluster } from '../src/cluster.ts';
import { decided } from '../src/decided.ts';
import type { Store } from '../src/inner-server.ts';
import { type Limits, newCaller, openDatabase } from '../src/operator.ts';
import { admin, type ServerProcess } from '../src/server-process.ts';

const LINKS = '/api/v1/links';
const BATCH = '/api/v1/links/batch';

let postgres: PostgresProcess;
let cluster: Cluster;
let store: Store;

beforeAll(async () => {
  postgres = await startPostgres();
  cluster = await startCluster({ database: postgres.url, hasMovableClock: true });
  store = await openDatabase(postgres.url, cluster.url);
});
afterAll(async () => {
  await store.close();
  await cluster.stop();
  await postgres.remove();
});

async function newKey(limits?: Limits): Promise<string> {
  return (await newCaller(store, 'custom', limits)).key;
}

interface Answer {
  status: number;
  headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of any shape, wrong ones included.
  json: any;
}

/** One request to the balancer, or to one server. */
async function request(
  key: string,
  method: string,
  path: string,
  { body, to = cluster, headers }: { body?: unknown; to?: ServerProcess; headers?: object } = {},
): Promise<Answer> {
  const response = await fetch(to.url + path, {
    method,
    redirect: 'manual',
    headers: { 'X-Api-Key': key, 'Content-Type': 'application/json', ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, json: text && JSON.parse(text) };
}

function server(index: number): ServerProcess {
  const found = cluster.servers[index % cluster.servers.length];
  if (found === undefined) throw new Error('no server');
  return found;
}

const linksOf = (count: number, name = 'l') =>
  Array.from({ length: count }, (_, n) => ({ target_url: `https://example.com/${name}/${n}` }));

async function linksUsed(key: string): Promise<number> {
  return (await request(key, 'GET', '/api/v1/usage')).json.links.used;
}

test('of three times the limit of requests, sent to all servers at once, exactly the limit passes', async () => {
  // The clocks stand still in the middle of a minute, so that none ends meanwhile.
  const now = Math.floor(Date.now() / 60_000) * 60_000 + 30_000;
  await cluster.setClock({ now, runs: false });
  const key = await newKey({ rpm: 200 });
  const answers = await Promise.all(
    Array.from({ length: 600 }, (_, n) =>
      decided(() => request(key, 'GET', '/api/v1/jobs/unknown', { to: server(n) })),
    ),
  );
  expect(answers.filter((answer) => answer.status === 404)).toHaveLength(200);
  expect(answers.filter((answer) => answer.status === 429)).toHaveLength(400);
  const usage = await request(key, 'GET', '/api/v1/usage');
  expect(usage.json.requests.minute).toMatchObject({ used: 200, limit: 200 });
  await cluster.setClock({ now: Date.now(), runs: true });
});

test('of three times the limit of links, created on all servers at once, exactly the limit is created', async () => {
  const key = await newKey({ links: 100 });
  const answers = await Promise.all(
    linksOf(300).map((body, n) =>
      decided(() => request(key, 'POST', LINKS, { body, to: server(n) })),
    ),
  );
  expect(answers.filter((answer) => answer.status === 201)).toHaveLength(100);
  expect(answers.filter((answer) => answer.status === 403)).toHaveLength(200);
  expect(new Set(answers.map((answer) => answer.json.code)).size).toBe(101);
  expect(await linksUsed(key)).toBe(100);
});

test('50 simultaneous duplicates with one Idempotency-Key, over all servers, make one link', async () => {
  const key = await newKey();
  const [body] = linksOf(1);
  const headers = { 'Idempotency-Key': 'once' };
  const create = async (n: number): Promise<Answer> => {
    const answer = await decided(() =>
      request(key, 'POST', LINKS, { body, headers, to: server(n) }),
    );
    return answer.status === 409 ? create(n + 1) : answer;
  };
  const answers = await Promise.all(Array.from({ length: 50 }, (_, n) => create(n)));
  expect(answers.map((answer) => answer.status)).toEqual(answers.map(() => 201));
  expect(new Set(answers.map((answer) => answer.json.id)).size).toBe(1);
  expect(await linksUsed(key)).toBe(1);
});

test('a link that is disabled stops redirecting on every server', async () => {
  const key = await newKey();
  const { json: link } = await request(key, 'POST', LINKS, { body: linksOf(1)[0] });
  const follow = async (n: number) =>
    (await fetch(`${server(n).url}/${link.code}`, { redirect: 'manual' })).status;
  const statuses = () => Promise.all(cluster.servers.map((_, n) => follow(n)));
  expect(await statuses()).toEqual([302, 302, 302]);
  await admin(postgres.url, ['links', 'disable', link.code]);
  // Without this a server would go on for as long as it remembers links while the database is away, which is an hour.
  await expect.poll(statuses).toEqual([410, 410, 410]);
});

test('clicks on every server add up', async () => {
  const key = await newKey();
  const { json: link } = await request(key, 'POST', LINKS, { body: linksOf(1)[0] });
  await Promise.all(
    Array.from({ length: 150 }, (_, n) =>
      decided(() => fetch(`${server(n).url}/${link.code}`, { redirect: 'manual' })),
    ),
  );
  const clicks = async () => (await store.findLink(link.code))?.click_count;
  await expect.poll(clicks, { interval: 300 }).toBe(150);
});

test('PostgreSQL restarts under load: no acknowledged link is lost, every other response is a clean 503, and everything recovers', async () => {
  const key = await newKey();
  const { json: known } = await request(key, 'POST', LINKS, { body: linksOf(1)[0] });
  const follow = (code: string, to: ServerProcess) =>
    fetch(`${to.url}/${code}`, { redirect: 'manual' });
  for (const to of cluster.servers) expect((await follow(known.code, to)).status).toBe(302);

  const codes: string[] = [];
  const others: Answer[] = [];
  const redirects = new Set<number>();
  let stopped = false;
  const writers = Array.from({ length: 12 }, async (_, writer) => {
    for (let count = 0; !stopped; count += 1) {
      const body = { target_url: `https://example.com/${writer}/${count}` };
      const answer = await request(key, 'POST', LINKS, { body, to: server(writer) });
      if (answer.status === 201) codes.push(answer.json.code);
      else others.push(answer);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  const readers = cluster.servers.map(async (to) => {
    while (!stopped) {
      redirects.add((await follow(known.code, to)).status);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  });
  await expect.poll(() => codes.length).toBeGreaterThan(100);
  await postgres.shutDown();
  await expect.poll(() => databaseUp(0)).toBe('0');
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect((await follow(known.code, server(0))).status).toBe(302);
  await postgres.startAgain();
  const afterStart = codes.length;
  await expect.poll(() => codes.length).toBeGreaterThan(afterStart + 100);
  stopped = true;
  await Promise.all([...writers, ...readers]);

  expect(others.length).toBeGreaterThan(0);
  for (const answer of others) {
    expect(answer.status).toBe(503);
    expect(answer.json).toMatchObject({ code: 'unavailable', error: expect.any(String) });
  }
  expect(redirects).toEqual(new Set([302]));
  for (const n of cluster.servers.keys()) {
    await expect.poll(() => databaseUp(n)).toBe('1');
  }
  // A few at a time: on a slow machine, some of hundreds at once get a 503.
  for (let start = 0; start < codes.length; start += 10) {
    const some = codes.slice(start, start + 10);
    const found = await Promise.all(some.map((code, n) => follow(code, server(n))));
    expect(found.map(({ status }) => status)).toEqual(some.map(() => 302));
  }
  expect(await linksUsed(key)).toBe(codes.length + 1);
});

test('after all that, no log line holds the password of the database, or a key of a session', () => {
  expect(cluster.log()).toContain('"level":"error"');
  expect(cluster.log()).not.toContain(POSTGRES_PASSWORD);
  expect(cluster.log()).not.toContain('secretKey');
});

// This test is the last one, since it leaves a server dead.
test('the job of a server that is killed continues elsewhere within seconds, and makes each link once', async () => {
  const key = await newKey();
  // The last of several jobs, so that the server has work left when it is killed, however late the test is with that.
  const links = linksOf(10_000, 'job');
  const victim = server(0);
  const others = [server(1), server(2)];
  // The others are paused until it is dead, so that it is the one that has taken the job.
  for (const other of others) {
    other.child.kill('SIGSTOP');
    onTestFinished(() => void other.child.kill('SIGCONT'));
  }
  const accept = () => request(key, 'POST', BATCH, { body: { links }, to: victim });
  const accepted = [await accept(), await accept(), await accept()];
  expect(accepted.map(({ status }) => status)).toEqual([202, 202, 202]);
  const jobPath = `/api/v1/jobs/${accepted.at(-1)?.json.job_id}`;
  const processed = async (to: ServerProcess) =>
    (await request(key, 'GET', jobPath, { to })).json.processed;
  await expect.poll(() => processed(victim), { interval: 1 }).toBeGreaterThan(0);
  await victim.stop('SIGKILL');
  for (const other of others) other.child.kill('SIGCONT');

  const survivor = server(1);
  const poll = () => request(key, 'GET', jobPath, { to: survivor });
  const atKill = (await poll()).json;
  expect(atKill.status, 'killed in the middle').toBe('processing');
  await expect.poll(async () => (await poll()).json.processed).toBeGreaterThan(atKill.processed);
  await expect.poll(async () => (await poll()).json.status, { interval: 200 }).toBe('completed');
  const { results } = (await poll()).json;
  expect(results.map((item: { target_url: string }) => item.target_url)).toEqual(
    links.map((link) => link.target_url),
  );
  expect(new Set(results.map((item: { code: string }) => item.code)).size).toBe(10_000);
  expect((await request(key, 'GET', '/api/v1/usage', { to: survivor })).json.links.used).toBe(
    30_000,
  );
  const stored = await store.findLink(results.at(-1).code);
  expect(stored?.target_url).toBe(links.at(-1)?.target_url);
});

/** The metrics of a server that are about its database. */
async function databaseUp(n: number): Promise<string | undefined> {
  const text = await (await fetch(`${server(n).url}/metrics`)).text();
  return /^shortlink_database_up (\d)$/m.exec(text)?.[1];
}

import { beforeEach, describe, expect, test } from 'vitest';
import { Metrics } from '../src/metrics/metrics.ts';
import { createService } from '../src/service.ts';
import { openSqliteStore } from '../src/store/sqlite/index.ts';
import { StoreError } from '../src/store/store-error.ts';
import { appOf } from './app-of.ts';
import { BATCH, entries, Fixture, LINKS, PUBLIC_URL, TARGET } from './fixture.ts';

const TOKEN = 'a-token-of-the-operator';
const bearer = (token: string) => ({ headers: { Authorization: `Bearer ${token}` } });

let app: Fixture;
let key: string;
beforeEach(async () => {
  app = await Fixture.open({ metricsToken: TOKEN });
  key = await app.caller();
});

/** The value of one series, by its name and labels as they are printed. */
async function read(series: string): Promise<number | undefined> {
  const { text } = await app.send('/metrics', bearer(TOKEN));
  const line = text.split('\n').find((row) => row.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

test('no cache keeps the metrics', async () => {
  const { headers } = await app.send('/metrics', bearer(TOKEN));
  expect(headers.get('cache-control')).toBe('no-store');
});

test('requests are counted by route, method and status, and timed by route', async () => {
  const { json } = await app.post(key, LINKS, { target_url: TARGET });
  await app.send(`/${json.code}`);
  await app.send(`/${json.code}`, { method: 'HEAD' });
  await app.send('/abcdefg');
  await app.send('/no/such/path');
  await app.send('/healthz', { method: 'BREW' });
  const requests = (route: string, method: string, status: number) =>
    read(`shortlink_http_requests_total{route="${route}",method="${method}",status="${status}"}`);
  expect(await requests(LINKS, 'POST', 201)).toBe(1);
  expect(await requests('/:code', 'GET', 302)).toBe(1);
  expect(await requests('/:code', 'HEAD', 302)).toBe(1);
  expect(await requests('/:code', 'GET', 404)).toBe(1);
  expect(await requests('none', 'GET', 404)).toBe(1);
  expect(await requests('none', 'other', 405)).toBe(1);
  expect(await read('shortlink_http_request_duration_seconds_count{route="/:code"}')).toBe(3);
  expect(await read('shortlink_redirects_total{type="302"}')).toBe(1);
});

test('durations are a histogram: each bucket counts what took no longer than its bound', async () => {
  const metrics = new Metrics();
  for (const seconds of [0.0005, 0.001, 0.002, 0.3, 60]) {
    metrics.countRequest({ route: '/x', method: 'GET', status: 200, seconds });
  }
  const text = await metrics.text();
  const name = 'shortlink_http_request_duration_seconds';
  const buckets = text.matchAll(new RegExp(`^${name}_bucket{le="(.*)",route="/x"} (.*)$`, 'gm'));
  expect([...buckets].map(([, bound, count]) => `${bound}: ${count}`)).toEqual(
    [
      '0.001: 2',
      '0.0025: 3',
      '0.005: 3',
      '0.01: 3',
      '0.025: 3',
      '0.05: 3',
      '0.1: 3',
      '0.25: 3',
    ].concat(['0.5: 4', '1: 4', '2.5: 4', '10: 4', '+Inf: 5']),
  );
  expect(text).toContain(`# TYPE ${name} histogram\n`);
  expect(text).toContain(`${name}_count{route="/x"} 5\n`);
  expect(Number(new RegExp(`^${name}_sum{route="/x"} (.*)$`, 'm').exec(text)?.[1])).toBeCloseTo(
    60.3035,
  );
  expect(text).not.toContain('\n\n\n');
});

test('whatever is asked for, the number of series stays bounded', async () => {
  const series = async () => (await app.send('/metrics', bearer(TOKEN))).text.split('\n').length;
  const ask = async (n: number) => {
    await app.send(`/abcd${n}fg?x=${n}`);
    await app.send(`/path/${n}/x`);
    await app.get(key, `/api/v1/jobs/${n}`);
    await app.get(`sl_${n}`, '/api/v1/usage');
    await app.send('/healthz', { method: `X${n}` });
  };
  await ask(0);
  await series();
  const before = await series();
  for (let n = 1; n < 50; n += 1) await ask(n);
  expect(await series()).toBe(before);
});

test('links are counted where they are created, and a replay creates none', async () => {
  const headers = { 'Idempotency-Key': 'k1' };
  await app.post(key, LINKS, { target_url: TARGET }, headers);
  await app.post(key, LINKS, { target_url: TARGET }, headers);
  const batch = { 'Idempotency-Key': 'k2' };
  for (let n = 0; n < 2; n += 1) await app.post(key, BATCH, { links: entries(7) }, batch);
  for (const replayed of [false, true]) {
    // An idle store creates the links of a job at once.
    const value = { job_id: crypto.randomUUID(), total: 101, processed: 101 };
    app.store.createJob = async () => ({ ok: true, value, replayed });
    await app.post(key, BATCH, { links: entries(101) });
  }
  expect(await read('shortlink_links_created_total{by="single"}')).toBe(1);
  expect(await read('shortlink_links_created_total{by="batch"}')).toBe(7);
  expect(await read('shortlink_links_created_total{by="job"}')).toBe(101);
});

test('jobs that wait are shown, and the links they create, without another look at the database', async () => {
  await app.post(key, BATCH, { links: entries(1_200) });
  const metrics = new Metrics();
  const { store } = app;
  const { pendingJobs, runJobChunk } = store;
  const service = createService({ store, publicUrl: PUBLIC_URL, metrics });
  let run = () => {};
  const isReleased = new Promise<void>((resolve) => {
    run = resolve;
  });
  store.runJobChunk = (...args) => isReleased.then(() => runJobChunk(...args));
  await service.start();
  store.pendingJobs = () => Promise.reject(new Error('away'));
  expect(await metrics.text()).toContain('shortlink_jobs_pending 1\n');
  run();
  await expect.poll(() => pendingJobs()).toEqual([]);
  await expect.poll(() => metrics.text()).toContain('shortlink_jobs_pending 0\n');
  expect(await metrics.text()).toContain('shortlink_links_created_total{by="job"} 1200\n');
  await service.stop();
});

test('refusals are counted by their code, database errors by their reason', async () => {
  const poor = await app.caller('custom', { links: 0, requests_per_minute: 1 });
  await app.post(poor, LINKS, { target_url: TARGET });
  await app.post(poor, LINKS, { target_url: TARGET });
  await app.post('sl_unknown', LINKS, {});
  app.store.createLink = () => Promise.reject(new StoreError('full', 'disk full'));
  await app.post(key, LINKS, { target_url: TARGET });
  for (const code of ['plan_limit', 'rate_limited', 'unauthorized']) {
    expect(await read(`shortlink_refusals_total{code="${code}"}`)).toBe(1);
  }
  expect(await read('shortlink_store_errors_total{reason="full"}')).toBe(1);
});

test('text that the database can not hold is a 400 that counts as one', async () => {
  app.store.createLink = () => Promise.reject(new StoreError('invalid', 'U+0000'));
  const { status, json } = await app.post(key, LINKS, { target_url: TARGET });
  expect([status, json.code]).toEqual([400, 'invalid_request']);
  expect(await read('shortlink_refusals_total{code="invalid_request"}')).toBe(1);
});

test('a database that is gone takes only its own figure away', async () => {
  await app.store.close();
  const { status, text } = await app.send('/metrics', bearer(TOKEN));
  expect(status).toBe(200);
  expect(text).toContain('shortlink_http_requests_total');
});

test('it says whether the database is in order', async () => {
  expect(await read('shortlink_database_up')).toBe(1);
  app.store.isHealthy = () => false;
  expect(await read('shortlink_database_up')).toBe(0);
});

test('what the process itself is doing is there when asked for', async () => {
  const metrics = new Metrics();
  metrics.watchProcess();
  expect(await metrics.text()).toMatch(/nodejs_eventloop_lag_p99_seconds/);
});

describe('who may read them', () => {
  test.each([
    ['no token', {}],
    ['a wrong token', bearer(`${TOKEN}x`)],
    ['an API key', { headers: { 'X-Api-Key': 'sl_x' } }],
    ['the token without its scheme', { headers: { Authorization: TOKEN } }],
  ])('with %s: nobody', async (_name, init) => {
    const { status, json } = await app.send('/metrics', init);
    expect(status).toBe(403);
    expect(json.code).toBe('forbidden');
  });

  test('the name of the scheme is read in any case (RFC 9110 section 11.1)', async () => {
    const headers = { Authorization: `bearer ${TOKEN}` };
    expect((await app.send('/metrics', { headers })).status).toBe(200);
  });

  test.each([
    ['127.0.0.1', {}, 200],
    ['::1', {}, 200],
    ['::ffff:127.0.0.1', {}, 200],
    ['10.0.0.7', {}, 403],
    ['::ffff:10.0.0.7', {}, 403],
    [undefined, {}, 403],
    ['127.0.0.1', { 'X-Forwarded-For': '127.0.0.1' }, 403],
    ['127.0.0.1', { Forwarded: 'for=127.0.0.1' }, 403],
    ['127.0.0.1', { Via: '1.1 proxy' }, 403],
    ['127.0.0.1', { 'X-Real-IP': '127.0.0.1' }, 403],
    ['10.0.0.7', { 'X-Forwarded-For': '127.0.0.1' }, 403],
  ])('without a token configured, from %s with %j: %i', async (remoteAddress, headers, status) => {
    const store = await openSqliteStore({ path: ':memory:', publicUrl: PUBLIC_URL });
    const open = appOf({ store, publicUrl: PUBLIC_URL });
    const connection =
      remoteAddress === undefined ? {} : { incoming: { socket: { remoteAddress } } };
    const answer = await open.request('/metrics', { headers }, connection);
    expect(answer.status).toBe(status);
    await store.close();
  });
});

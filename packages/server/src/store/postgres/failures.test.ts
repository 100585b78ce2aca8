import { expect, test } from 'vitest';
import { generateCode } from '../../domain/ids.ts';
import { clickBuffer } from '../../jobs/click-buffer.ts';
import {
  linksUsed,
  NOW,
  newCaller,
  newLink,
  newLinks,
  PUBLIC_URL,
} from '../contract/fixtures.test-suite.ts';
import { imported } from '../contract/moving.test-suite.ts';
import { shortUrlMaker, toJobInput } from '../links.ts';
import { rowOf, sql } from '../queries/reading.ts';
import { StoreError } from '../store-error.ts';
import { useCuttingProxy } from './cutting-proxy.test-suite.ts';
import { Database } from './database.ts';
import { openPostgresStore } from './index.ts';
import { postgresStore } from './postgres-store.ts';
import { execute, usePostgres } from './test-postgres.test-suite.ts';

const { newSchema } = usePostgres();
const newProxy = useCuttingProxy();

/** A store that reaches its database through a proxy, and the same database directly. */
async function setUp(options: { generateCode?: () => string } = {}) {
  const directUrl = await newSchema();
  const proxy = await newProxy(directUrl);
  const store = await openPostgresStore({ url: proxy.url, publicUrl: PUBLIC_URL, ...options });
  return { store, proxy, directUrl, count: () => countLinks(directUrl) };
}

function storeOn(db: Database) {
  const shortUrl = shortUrlMaker(PUBLIC_URL);
  return postgresStore({ db, generateCode, shortUrl });
}

async function countLinks(url: string): Promise<number> {
  const [row] = await execute(url, 'SELECT count(*)::int AS count FROM links');
  return Number(row?.['count']);
}

for (const cut of ['before COMMIT', 'after COMMIT'] as const) {
  test(`a connection that is lost ${cut}: the link is created once, and answered`, async () => {
    const { store, proxy, count } = await setUp();
    const caller = await newCaller(store);
    proxy.cuts.push(cut);
    const outcome = await store.createLink({ caller, input: newLink(), now: NOW });
    if (!outcome.ok) throw new Error(outcome.reason);
    expect(proxy.cuts).toEqual([]);
    expect(await store.findLink(outcome.value.code)).toEqual(outcome.value);
    expect(await count()).toBe(1);
    expect(await linksUsed(store, caller)).toBe(1);
    await store.close();
  });

  test(`a connection that is lost ${cut}, and again with every question for the outcome: one link`, async () => {
    const { store, proxy, count } = await setUp();
    const caller = await newCaller(store);
    proxy.cuts.push(cut, 'after COMMIT', 'during COMMIT', 'after COMMIT');
    const outcome = await store.createLink({ caller, input: newLink(), now: NOW });
    if (!outcome.ok) throw new Error(outcome.reason);
    expect(proxy.cuts).toEqual([]);
    expect(await store.findLink(outcome.value.code)).toEqual(outcome.value);
    expect(await count()).toBe(1);
    expect(await linksUsed(store, caller)).toBe(1);
    await store.close();
  });

  test(`a connection that is lost ${cut} of a job: it is accepted once, and every chunk runs once`, async () => {
    const { store, proxy, count } = await setUp();
    const caller = await newCaller(store);
    proxy.cuts.push(cut);
    const outcome = await store.createJob({ caller, input: toJobInput(newLinks(1_200)), now: NOW });
    if (!outcome.ok) throw new Error(outcome.reason);
    expect(await store.pendingJobs()).toEqual([outcome.value.job_id]);
    for (let done = false; !done; ) {
      proxy.cuts.push(cut);
      ({ done } = await store.runJobChunk(outcome.value.job_id, NOW));
    }
    expect(await count()).toBe(1_200);
    expect(await linksUsed(store, caller)).toBe(1_200);
    await store.close();
  });

  test(`clicks are counted once when the connection is lost ${cut}`, async () => {
    const { store, proxy } = await setUp();
    const caller = await newCaller(store);
    const outcome = await store.createLink({ caller, input: newLink(), now: NOW });
    if (!outcome.ok) throw new Error(outcome.reason);
    proxy.cuts.push(cut);
    await store.addClicks(new Map([[outcome.value.code, 25]]));
    expect(await store.findLink(outcome.value.code)).toMatchObject({ click_count: 25 });
    await store.close();
  });
}

test('a request is counted once when the connection is lost while it is counted', async () => {
  const { store, proxy, directUrl } = await setUp();
  const caller = await newCaller(store);
  await execute(
    directUrl,
    `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(4); RETURN NULL; END $$;
     CREATE TRIGGER slow_count AFTER INSERT ON request_minutes FOR EACH STATEMENT EXECUTE FUNCTION wait()`,
  );
  const unavailable = { name: 'StoreError', reason: 'unavailable' };
  const rejected = expect(store.admit(caller, NOW)).rejects.toMatchObject(unavailable);
  const sleeping = () =>
    execute(
      directUrl,
      `SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'`,
    );
  await expect.poll(sleeping, { interval: 10 }).toHaveLength(1);
  proxy.block(true);
  proxy.block(false);
  await rejected;
  await expect.poll(sleeping).toEqual([]);
  const { requests } = await store.usage(caller.accountId, NOW);
  expect(requests.minute.used).toBe(1);
  await store.close();
});

test('clicks whose commit is in doubt for longer than can be waited for are counted once', async () => {
  const { store, proxy, directUrl } = await setUp();
  const caller = await newCaller(store);
  const outcome = await store.createLink({ caller, input: newLink(), now: NOW });
  if (!outcome.ok) throw new Error(outcome.reason);
  const { code } = outcome.value;
  await store.close();
  const hasty = storeOn(new Database({ url: proxy.url, outcomeWaitMs: 300 }));
  const buffer = clickBuffer({ store: hasty, flushMs: 60_000 });
  for (const click of [code, code, 'unknown']) buffer.add(click);
  proxy.cuts.push('after COMMIT, for good');
  expect(await buffer.flush()).toBe(false);
  const [counted] = await execute(directUrl, 'SELECT clicks::int AS clicks FROM link_clicks');
  expect(counted).toEqual({ clicks: 2 });
  buffer.add(code);
  proxy.block(false);
  await buffer.stop();
  expect(await hasty.findLink(code)).toMatchObject({ click_count: 3 });
  await hasty.close();
});

test('a commit whose outcome stays unknown is another error than a database that is away', async () => {
  const directUrl = await newSchema();
  const proxy = await newProxy(directUrl);
  const db = new Database({ url: proxy.url, outcomeWaitMs: 300 });
  await db.write((run) => run(sql`CREATE TABLE kept (id int)`));
  proxy.cuts.push('after COMMIT, for good');
  const insert = () => db.write((run) => run(sql`INSERT INTO kept VALUES (1)`));
  await expect(insert()).rejects.toMatchObject({ name: 'StoreError', reason: 'outcome_unknown' });
  await expect(insert()).rejects.toMatchObject({ name: 'StoreError', reason: 'unavailable' });
  expect(await execute(directUrl, 'SELECT id FROM kept')).toEqual([{ id: 1 }]);
  proxy.block(false);
  expect(await insert()).toEqual([]);
  await db.close();
});

test('a commit that is still under way when its connection is lost is waited for, and not repeated', async () => {
  const { store, proxy, directUrl, count } = await setUp();
  const caller = await newCaller(store);
  // The database takes two seconds for the commit itself. It would end it after five.
  await execute(
    directUrl,
    `CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(2); RETURN NULL; END $$;
     CREATE CONSTRAINT TRIGGER slow_commit AFTER INSERT ON links DEFERRABLE INITIALLY DEFERRED
       FOR EACH ROW EXECUTE FUNCTION wait()`,
  );
  proxy.cuts.push('during COMMIT');
  const outcome = await store.createLink({ caller, input: newLink(), now: NOW });
  if (!outcome.ok) throw new Error(outcome.reason);
  expect(proxy.cuts).toEqual([]);
  expect(await store.findLink(outcome.value.code)).toEqual(outcome.value);
  expect(await count()).toBe(1);
  await store.close();
});

test('what fails by itself once a lost commit is tried again is not in doubt', async () => {
  const { store, proxy } = await setUp();
  const db = new Database({ url: proxy.url, outcomeWaitMs: 200 });
  proxy.cuts.push('before COMMIT');
  let runs = 0;
  const writing = db.write(async () => {
    runs += 1;
    if (runs === 2) throw new StoreError('invalid', 'can not be stored');
  });
  await expect(writing).rejects.toMatchObject({ reason: 'invalid' });
  await Promise.all([db.close(), store.close()]);
});

test('a disk that is full counts as an outage until something was written, whatever can be read', async () => {
  const db = new Database({ url: await newSchema() });
  const readPrimary = () => db.readPrimary(rowOf(sql`SELECT 1`));
  const full = db.write((run) =>
    run(sql`DO $$ BEGIN RAISE 'no space' USING ERRCODE = '53100'; END $$`),
  );
  await expect(full).rejects.toMatchObject({ reason: 'full' });
  await readPrimary();
  expect(db.isHealthy).toBe(false);
  await db.write((run) => run(sql`CREATE TABLE kept (id int)`));
  expect(db.isHealthy).toBe(true);
  await db.close();
});

test('that the database is back shows in the reads of an instance that writes nothing', async () => {
  const proxy = await newProxy(await newSchema());
  const db = new Database({ url: proxy.url });
  proxy.block(true);
  const write = db.write((run) => run(sql`SELECT 1`));
  await expect(write).rejects.toMatchObject({ reason: 'unavailable' });
  expect(db.isHealthy).toBe(false);
  proxy.block(false);
  await db.readPrimary(rowOf(sql`SELECT 1`));
  expect(db.isHealthy).toBe(true);
  await db.close();
});

test('while the database is away everything rejects as unavailable; then everything works again', async () => {
  const { store, proxy, count } = await setUp();
  const caller = await newCaller(store);
  proxy.block(true);
  const unavailable = { name: 'StoreError', reason: 'unavailable' };
  await expect(store.findRedirect('abc')).rejects.toMatchObject(unavailable);
  await expect(store.admit(caller, NOW)).rejects.toMatchObject(unavailable);
  const creates = newLinks(30).map((input) => store.createLink({ caller, input, now: NOW }));
  for (const create of await Promise.allSettled(creates)) {
    expect(create).toMatchObject({ status: 'rejected', reason: unavailable });
  }
  const input = toJobInput(newLinks(101));
  await expect(store.createJob({ caller, input, now: NOW })).rejects.toMatchObject(unavailable);
  proxy.block(false);
  expect(await count()).toBe(0);
  expect(await store.findRedirect('abc')).toBeUndefined();
  expect(await store.createLink({ caller, input: newLink(), now: NOW })).toMatchObject({
    ok: true,
  });
  expect(await linksUsed(store, caller)).toBe(1);
  await store.close();
});

test('a database that lets nobody in, or that nothing was restored into yet, is unavailable', async () => {
  const url = await newSchema();
  const store = await openPostgresStore({ url, publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  const create = () => store.createLink({ caller, input: newLink(), now: NOW });
  const name = new URL(url).pathname.slice(1);
  const elsewhere = Object.assign(new URL(url), { pathname: '/postgres' }).href;
  const fails = async () => {
    const unavailable = { name: 'StoreError', reason: 'unavailable' };
    await expect(create()).rejects.toMatchObject(unavailable);
    await expect(store.findRedirect('abc')).rejects.toMatchObject(unavailable);
    expect(store.isHealthy()).toBe(false);
  };
  await execute(elsewhere, `ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
  await execute(
    elsewhere,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`,
  );
  await fails();
  await execute(elsewhere, `ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
  expect(await create()).toMatchObject({ ok: true });
  await execute(url, 'ALTER SCHEMA public RENAME TO kept; CREATE SCHEMA public');
  await fails();
  await execute(url, 'DROP SCHEMA public; ALTER SCHEMA kept RENAME TO public');
  expect(await create()).toMatchObject({ ok: true });
  await store.close();
});

test('an export whose connection is lost fails, instead of going on at another moment', async () => {
  const { store, proxy } = await setUp();
  const caller = await newCaller(store);
  await store.createLink({ caller, input: newLink(), now: NOW });
  const exporting = store.exportLinks(undefined, async () => {
    proxy.block(true);
    proxy.block(false);
  });
  await expect(exporting).rejects.toThrow('The connection was lost. Try again.');
  await store.close();
});

test('writes that follow each other leave one row that tells of the last of them', async () => {
  const { store, directUrl } = await setUp();
  const caller = await newCaller(store);
  for (const input of newLinks(20)) await store.createLink({ caller, input, now: NOW });
  expect(await execute(directUrl, 'SELECT FROM click_writes')).toHaveLength(1);
  await store.close();
});

test('a read of a database that vanishes without a word does not wait for it', async () => {
  const { store, proxy } = await setUp();
  await store.findRedirect('abc');
  proxy.swallow(true);
  await expect(store.findRedirect('abc')).rejects.toMatchObject({
    name: 'StoreError',
    reason: 'unavailable',
  });
  proxy.block(true);
  await store.close();
});

test('sessions that the server ends while they are idle are replaced', async () => {
  const { store, directUrl } = await setUp();
  await Promise.all(Array.from({ length: 10 }, () => store.findRedirect('abc')));
  await execute(
    directUrl,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid()`,
  );
  await Promise.all(Array.from({ length: 20 }, () => store.findRedirect('abc')));
  await store.close();
});

test('a code that is taken is drawn again, also by links of one batch', async () => {
  let draws = 0;
  // Every code is drawn three times.
  const generateCode = () => `code${String(Math.floor(draws++ / 3)).padStart(3, '0')}`;
  const { store, count } = await setUp({ generateCode });
  const caller = await newCaller(store);
  const first = await store.createLink({ caller, input: newLink(), now: NOW });
  expect(first).toMatchObject({ value: { code: 'code000' } });
  const batch = await store.createBatch({ caller, input: newLinks(10), now: NOW });
  if (!batch.ok) throw new Error(batch.reason);
  expect(new Set(batch.value.map((item) => item.code)).size).toBe(10);
  for (const { code, target_url } of batch.value) {
    expect(await store.findRedirect(code ?? '')).toMatchObject({ target_url });
  }
  expect(await count()).toBe(11);
  await store.close();
});

test('a code that is the address of a moved link on the same domain is drawn again', async () => {
  // The import draws two of them, the create two.
  const draws = ['moved22', 'other22', 'moved22', 'other23'];
  const { store } = await setUp({ generateCode: () => draws.shift() ?? 'spent00' });
  const caller = await newCaller(store);
  const { accountId } = caller;
  const links = [imported('/moved22')];
  expect(await store.importLinks({ accountId, links })).toEqual([{ state: 'created' }]);
  const created = await store.createLink({ caller, input: newLink(), now: NOW });
  expect(created).toMatchObject({ value: { code: 'other23' } });
  expect((await store.findRedirect('/moved22'))?.code).toBe('other22');
  await store.close();
});

test('a generator that gives one code over and over ends, and nothing is kept', async () => {
  const { store, count } = await setUp({ generateCode: () => 'same' });
  const caller = await newCaller(store);
  await store.createLink({ caller, input: newLink(), now: NOW });
  const again = store.createLink({ caller, input: newLink(), now: NOW });
  await expect(again).rejects.toMatchObject({ reason: 'internal' });
  expect(await count()).toBe(1);
  expect(await linksUsed(store, caller)).toBe(1);
  await store.close();
});

test('a list of links may take longer than the reads of requests, since it goes through all links', async () => {
  const { store, directUrl } = await setUp();
  const caller = await newCaller(store);
  const outcome = await store.createLink({ caller, input: newLink(), now: NOW });
  if (!outcome.ok) throw new Error(outcome.reason);
  // It reads the link twice: to find it, and to show it. A read of a request ends after 3 s.
  await execute(
    directUrl,
    `ALTER VIEW link_details RENAME TO fast_details;
     CREATE VIEW link_details AS SELECT * FROM fast_details WHERE pg_sleep(2.5)::text = ''`,
  );
  const search = { accountId: caller.accountId, limit: 10 };
  expect(await store.listLinks(search)).toEqual([outcome.value]);
  await store.close();
});

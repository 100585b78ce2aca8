import { Client } from 'pg';
import { expect, onTestFinished, test, vi } from 'vitest';
import { generateCode } from '../../domain/ids.ts';
import { NOW, newCaller, newLink, PUBLIC_URL } from '../contract/fixtures.test-suite.ts';
import { shortUrlMaker } from '../links.ts';
import { rowOf, sql } from '../queries/reading.ts';
import type { Store } from '../store.ts';
import { checkLimits } from './connection.ts';
import { Connections } from './connections.ts';
import { Database } from './database.ts';
import { inspectPostgres, migratePostgres, openPostgresStore } from './index.ts';
import { postgresStore } from './postgres-store.ts';
import { execute, usePostgres } from './test-postgres.test-suite.ts';

const { newSchema } = usePostgres();

/** The database as a user that may have so many connections, and how many it has. */
async function limitedUser(limit: number) {
  const url = await newSchema();
  const role = `limited_${Date.now()}`;
  const password = 'hunter2-of-limited';
  await execute(url, `CREATE ROLE ${role} LOGIN PASSWORD '${password}' CONNECTION LIMIT ${limit}`);
  await execute(url, `GRANT ALL ON ALL TABLES IN SCHEMA public TO ${role}`);
  const open = async () =>
    (await execute(url, `SELECT FROM pg_stat_activity WHERE usename = '${role}'`)).length;
  return { url: Object.assign(new URL(url), { username: role, password }).href, admin: url, open };
}

async function connectTo(url: string): Promise<Client> {
  const client = new Client({ connectionString: url });
  await client.connect();
  return client;
}

test('a look at a database finds what its user may have, or what the database grants to all', async () => {
  const { url, admin } = await limitedUser(12);
  const seen = async () => (await inspectPostgres(url)).connections;
  const most = async () => (await seen())?.most;
  expect(await most()).toBe(12);
  const others = await Promise.all(Array.from({ length: 5 }, () => connectTo(admin)));
  expect((await seen())?.used).toBeGreaterThanOrEqual(6);
  for (const other of others) await other.end();
  await execute(admin, `ALTER DATABASE ${new URL(url).pathname.slice(1)} CONNECTION LIMIT 7`);
  expect(await most()).toBe(7);
});

test('a start whose first connection is refused waits in line, says so once, and gives up with the reason', async () => {
  const { url } = await limitedUser(1);
  const other = await connectTo(url);
  const said: string[] = [];
  const onWait = (message: string) => said.push(message);
  const waiting = migratePostgres(url, { onWait, waitMs: 1_500 });
  await expect(waiting).rejects.toMatchObject({ reason: 'busy' });
  await expect(waiting).rejects.toThrow('has no connection left');
  const words = expect.stringMatching(/^waiting for a connection: the database .* has none left$/);
  expect(said).toEqual([words]);
  const opening = openPostgresStore({ url, publicUrl: PUBLIC_URL });
  await other.end();
  await (await opening).close();
});

/** Redirects, requests and creates of many accounts at once: how each ended. */
async function busyMoment(store: Store, accounts = 8): Promise<Map<string, number>> {
  const callers: Awaited<ReturnType<typeof newCaller>>[] = [];
  for (let n = 0; n < accounts; n += 1) callers.push(await newCaller(store));
  const calls = callers.flatMap((caller) =>
    Array.from({ length: 2 }, (_, n) => [
      store.createLink({ caller, input: newLink(n), now: NOW }),
      store.admit(caller, NOW),
      store.findRedirect(`unknown${n}`),
    ]).flat(),
  );
  const ends = new Map<string, number>();
  for (const call of await Promise.allSettled(calls)) {
    const end = call.status === 'fulfilled' ? 'fulfilled' : String(call.reason.message);
    ends.set(end, (ends.get(end) ?? 0) + 1);
  }
  return ends;
}

test.each([2, 3, 10])(
  'with %i connections for its user, calls wait in line and none fails',
  async (limit) => {
    const { url } = await limitedUser(limit);
    // However slow the machine is.
    const maxWaitMs = 100_000;
    const db = new Database({ url, maxWaitMs });
    const store = postgresStore({ db, generateCode, shortUrl: shortUrlMaker(PUBLIC_URL) });
    expect(await busyMoment(store)).toEqual(new Map([['fulfilled', 48]]));
    expect(store.isHealthy()).toBe(true);
    await store.close();
  },
);

test('with no connection left at all, calls are rejected as busy, and it is no outage', async () => {
  const { url, open } = await limitedUser(2);
  const db = new Database({ url });
  const pid = sql`SELECT pg_backend_pid() AS pid`;
  await db.read(rowOf(pid));
  const others = [new Database({ url }), new Database({ url })];
  await others[0]?.read(rowOf(pid));
  expect(await open()).toBe(2);
  await expect(others[1]?.read(rowOf(pid))).rejects.toMatchObject({ reason: 'busy' });
  expect(others[1]?.isHealthy).toBe(true);
  await others[0]?.close();
  expect(await others[1]?.read(rowOf(pid))).toBeDefined();
  for (const each of [db, others[1]]) await each?.close();
});

test('an instance that was refused connections gets all of its own again, once there are some', async () => {
  const now = performance.now.bind(performance);
  let aheadMs = 0;
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + aheadMs);
  onTestFinished(() => clock.mockRestore());
  const { url } = await limitedUser(2);
  const [db, other] = [new Database({ url, maxWaitMs: 200 }), new Database({ url })];
  const read = (database: Database) => database.read(rowOf(sql`SELECT 1 AS one`));
  await read(other);
  const [isOpen, isOver] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const first = db.snapshot(async () => {
    isOpen.resolve();
    await isOver.promise;
  });
  await isOpen.promise;
  await expect(read(db)).rejects.toMatchObject({ reason: 'busy' });
  await other.close();
  aheadMs = 10_000;
  isOver.resolve();
  await first;
  // Now one waits for the other, which needs a connection of its own.
  await db.snapshot(() => read(db));
  await db.close();
});

test('a connection that is in use is given to those who have none once, and the others are kept', async () => {
  const giving = vi.spyOn(Connections.prototype, 'giveOne');
  onTestFinished(() => giving.mockRestore());
  const { url, open } = await limitedUser(5);
  const db = new Database({ url, maxWaitMs: 100_000 });
  const held = Promise.withResolvers<void>();
  const writes = [1, 2, 3, 4, 5].map(() => db.write(() => held.promise));
  await expect.poll(open).toBe(5);
  const pid = sql`SELECT pg_backend_pid() AS pid`;
  const read = db.read(rowOf(pid));
  // While it waits, it asks again and again.
  await expect.poll(() => giving.mock.calls.length).toBeGreaterThan(3);
  held.resolve();
  await Promise.all(writes);
  expect(await read).toBeDefined();
  const kept = await db.readPrimary(rowOf(pid));
  expect(await db.readPrimary(rowOf(pid))).toEqual(kept);
  expect(await open()).toBe(5);
  await db.close();
});

test('whoever asks again before the database can give a connection to others gets no second one', async () => {
  const connections = new Connections({
    ...{ url: await newSchema(), use: 'read', name: 'x', max: 3, maxWaitMs: 100_000 },
    ...{ onConnected: () => undefined, onOutcome: () => undefined, onStarved: () => undefined },
  });
  const run = (act: () => Promise<unknown>) => connections.run(() => false, act);
  const held = Promise.withResolvers<void>();
  const opened = [1, 2, 3].map(() => run(() => held.promise));
  await expect.poll(() => connections.counts.busy).toBe(3);
  held.resolve();
  await Promise.all(opened);
  // All of this is within a second, however busy the machine is.
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now());
  onTestFinished(() => clock.mockRestore());
  connections.giveOne();
  connections.giveOne();
  await run(async () => undefined);
  connections.giveOne();
  await expect.poll(() => connections.counts).toEqual({ busy: 0, idle: 2, free: 1 });
  await connections.close();
});

test('once a database that could only be read takes writes again, the connections that read are replaced', async () => {
  const { url, admin } = await limitedUser(20);
  const setting = `ALTER ROLE ${new URL(url).username} SET default_transaction_read_only`;
  const db = new Database({ url });
  const reader = () => db.read(rowOf(sql`SELECT pg_backend_pid() AS pid`));
  const nothing = async () => undefined;
  const before = await reader();
  await execute(admin, `${setting} = on`);
  await expect(db.write(nothing)).rejects.toMatchObject({ reason: 'read_only' });
  expect(await reader()).toEqual(before);
  await execute(admin, `${setting} = off`);
  await db.write(nothing);
  const after = await reader();
  expect(after).not.toEqual(before);
  // Another connection that writes is no reason to replace them once more.
  await db.write(() => db.write(nothing));
  expect(await reader()).toEqual(after);
  await db.close();
});

test('a connection that was being opened when all were to be replaced is used once', async () => {
  const url = await newSchema();
  let opened = 0;
  const connections = new Connections({
    ...{ url, use: 'read', name: 'x', max: 1, maxWaitMs: 10_000 },
    onConnected: () => {
      opened += 1;
      // It may lead to a node that was replaced while the first statements were on their way.
      if (opened === 1) connections.renew();
    },
    onOutcome: () => undefined,
    onStarved: () => undefined,
  });
  const pid = sql`SELECT pg_backend_pid() AS pid`;
  const ask = () =>
    connections.run(
      () => false,
      (channel) => channel.single(pid),
    );
  const [first, second, third] = [await ask(), await ask(), await ask()];
  await connections.close();
  expect(second).not.toEqual(first);
  expect(third).toEqual(second);
});

test.each([2, 7])(
  'an instance has at most the %i connections of its setting',
  async (connections) => {
    const { url, open } = await limitedUser(100);
    const store = await openPostgresStore({ url, connections, publicUrl: PUBLIC_URL });
    let isOver = false;
    const watching = (async () => {
      let most = 0;
      for (let isLast = false; !isLast; most = Math.max(most, await open())) isLast = isOver;
      return most;
    })();
    const ends = await busyMoment(store);
    isOver = true;
    expect(await watching).toBe(connections);
    expect(ends).toEqual(new Map([['fulfilled', 48]]));
    await store.close();
  },
);

test('every connection has its time limits, and one that loses them is not used', async () => {
  const db = new Database({ url: await newSchema() });
  const limits = sql`SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
    current_setting('idle_in_transaction_session_timeout') AS idle`;
  expect(await db.read(rowOf(limits))).toEqual({ statement: '3s', lock: '2s', idle: '5s' });
  const written = await db.write(async (run) => (await run(limits))[0]);
  expect(written).toEqual({ statement: '5s', lock: '2s', idle: '5s' });
  const searched = await db.snapshot(async (run) => (await run(limits))[0], 'search');
  expect(searched).toEqual({ statement: '1min', lock: '2s', idle: '5s' });
  const dropped = {
    statement_timeout: 3_000,
    lock_timeout: 0,
    idle_in_transaction_session_timeout: 5_000,
  };
  expect(() => checkLimits('read', dropped, 'x')).toThrow('lock_timeout = 0 ms right after');
  await db.close();
});

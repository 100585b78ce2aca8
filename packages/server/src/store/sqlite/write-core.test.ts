import { expect, test, vi } from 'vitest';
import { generateCode, MAX_CODE_DRAWS } from '../../domain/ids.ts';
import {
  linksUsed,
  NOW,
  newCaller,
  newJob,
  newLink,
  newLinks,
  PUBLIC_URL,
} from '../contract/fixtures.test-suite.ts';
import { imported } from '../contract/moving.test-suite.ts';
import { shortUrlMaker, toJobInput } from '../links.ts';
import { sqlText } from '../queries/reading.ts';
import type { Caller } from '../store.ts';
import { StoreError } from '../store-error.ts';
import { Database } from './database.ts';
import { migrate, migrations } from './migrate.ts';
import { sqliteStore } from './sqlite-store.ts';
import { useDatabasePath } from './temp-database.test-suite.ts';
import { WriteCore, type WriteReply, type WriteRequest } from './write-core.ts';
import { InlineWriter } from './writers.ts';

const path = useDatabasePath();

/** A store whose one connection and writer the test holds in its hands. */
async function openParts(draw: () => string = generateCode, isIdle = () => false) {
  const db = new Database({ path: path() });
  migrate(db, migrations, NOW);
  const shortUrl = shortUrlMaker(PUBLIC_URL);
  const core = new WriteCore({ db, generateCode: draw, shortUrl, isIdle });
  const writer = new InlineWriter(core);
  const store = sqliteStore({ reader: db, writer, shortUrl });
  const caller = await newCaller(store);
  return { db, core, store, caller };
}

function createRequest(id: number, caller: Caller): WriteRequest {
  return { id, name: 'createLink', args: [{ caller, input: newLink(id), now: NOW }] };
}

test('writes that arrive together are committed together', async () => {
  const { db, core, caller, store } = await openParts();
  const watcher = new Database({ path: path() });
  const before = dataVersion(watcher);
  const replies: WriteReply[] = [];
  const requests = Array.from({ length: 50 }, (_, id) => createRequest(id, caller));
  core.run(requests, (some) => replies.push(...some));
  expect(replies.map((reply) => reply.ok)).toEqual(Array.from({ length: 50 }, () => true));
  // SQLite increases it once per commit of another connection.
  expect(dataVersion(watcher)).toBe(before + 1);
  expect(db.get(sqlText('PRAGMA synchronous'))).toEqual({ synchronous: 2 });
  // An admission waits for no disk, and what comes after it does again.
  await store.admit(caller, NOW);
  expect(db.get(sqlText('PRAGMA synchronous'))).toEqual({ synchronous: 1 });
  await store.createLink({ caller, input: newLink(), now: NOW });
  expect(db.get(sqlText('PRAGMA synchronous'))).toEqual({ synchronous: 2 });
  watcher.close();
  await store.close();
});

test('a code that is the address of a moved link on the same domain is drawn again', async () => {
  // The import draws two of them, the create two.
  const draws = ['moved22', 'other22', 'moved22', 'other23'];
  const { store, caller } = await openParts(() => draws.shift() ?? 'spent00');
  const { accountId } = caller;
  const links = [imported('/moved22')];
  expect(await store.importLinks({ accountId, links })).toEqual([{ state: 'created' }]);
  const created = await store.createLink({ caller, input: newLink(), now: NOW });
  expect(created).toMatchObject({ value: { code: 'other23' } });
  expect((await store.findRedirect('/moved22'))?.code).toBe('other22');
  draws.push('moved22', 'other23', 'free224');
  await store.importLinks({ accountId, links: [imported('/more')] });
  expect((await store.findRedirect('/more'))?.code).toBe('free224');
  await store.close();
});

test('of the links of an account, the 20 that are clicked most are kept in a list', async () => {
  const { db, store, caller } = await openParts();
  const batch = await store.createBatch({ caller, input: newLinks(30), now: NOW });
  if (!batch.ok) throw new Error(batch.reason);
  for (const [n, { code = '' }] of batch.value.entries()) {
    await store.addClicks(new Map([[code, n + 1]]));
  }
  expect(db.get(sqlText('SELECT count(*) AS kept, min(clicks) AS least FROM top_links'))).toEqual({
    kept: 20,
    least: 11,
  });
  await store.close();
});

test('what finds out whether the database takes writes does write', async () => {
  const { core, store } = await openParts();
  const watcher = new Database({ path: path() });
  const before = dataVersion(watcher);
  core.run([{ id: 1, name: 'probe', args: [] }], () => undefined);
  expect(dataVersion(watcher)).toBe(before + 1);
  watcher.close();
  await store.close();
});

function dataVersion(db: Database): number {
  return db.get<{ data_version: number }>(sqlText('PRAGMA data_version'))?.data_version ?? 0;
}

test('admissions are answered before creates and clicks, and all before work in the background', async () => {
  const { core, caller, store } = await openParts();
  const answered: number[][] = [];
  core.run(
    [
      { id: 1, name: 'runJobChunk', args: [await newJob(store, caller, 101), NOW] },
      { id: 2, name: 'addClicks', args: [new Map([['x', 1]])] },
      createRequest(3, caller),
      createRequest(4, caller),
      { id: 5, name: 'admit', args: [caller, NOW] },
    ],
    (replies) => answered.push(replies.map((reply) => reply.id)),
  );
  expect(answered).toEqual([[5], [2, 3, 4], [1]]);
  await store.close();
});

test('of the work in the background one piece is run, so that what arrives meanwhile comes before the next', async () => {
  const { core, caller, store } = await openParts();
  const jobId = await newJob(store, caller, 1_500);
  const chunk = (id: number) =>
    ({ id, name: 'runJobChunk', args: [jobId, NOW] }) satisfies WriteRequest;
  const answered: number[] = [];
  const run = (requests: WriteRequest[]) =>
    core.run(requests, (replies) => answered.push(...replies.map((reply) => reply.id)));
  const left = run([chunk(1), chunk(2), chunk(3)]);
  expect(left.map((request) => request.id)).toEqual([2, 3]);
  expect(run(run([...left, createRequest(4, caller)]))).toEqual([]);
  expect(answered).toEqual([1, 4, 2, 3]);
  await store.close();
});

test('the chunks of a job share a commit while nobody else waits', async () => {
  let idleFor = 0;
  const { core, caller, store } = await openParts(generateCode, () => {
    idleFor -= 1;
    return idleFor >= 0;
  });
  const jobId = await newJob(store, caller, 4_400);
  const replies: WriteReply[] = [];
  const run = () =>
    core.run([{ id: 1, name: 'runJobChunk', args: [jobId, NOW] }], (some) => replies.push(...some));
  idleFor = 3;
  run();
  idleFor = 1;
  run();
  idleFor = 4;
  run();
  expect(replies.map((reply) => reply.ok && reply.value)).toEqual([
    { created: 2_000, processed: 2_000, done: false },
    { created: 1_000, processed: 3_000, done: false },
    { created: 1_400, processed: 4_400, done: true },
  ]);
  await store.close();
});

test('a job that is accepted while nothing else waits runs at once, in the same commit', async () => {
  const { db, core, caller, store } = await openParts(generateCode, () => true);
  const watcher = new Database({ path: path() });
  const before = dataVersion(watcher);
  const replies: WriteReply[] = [];
  core.run([jobRequest(1, caller, 1_400)], (some) => replies.push(...some));
  expect(replies).toMatchObject([
    { id: 1, ok: true, value: { value: { total: 1_400, processed: 1_400 } } },
  ]);
  expect(dataVersion(watcher)).toBe(before + 1);
  expect(await store.pendingJobs()).toEqual([]);
  expect(db.get(sqlText('SELECT count(*) AS links FROM links'))).toEqual({ links: 1_400 });
  watcher.close();
  await store.close();
});

test.each([
  ['a create', createRequest],
  [
    'a write of clicks',
    (id: number): WriteRequest => ({ id, name: 'addClicks', args: [new Map()] }),
  ],
])('%s beside a job that is accepted waits for none of its links', async (_, other) => {
  const { db, core, caller, store } = await openParts(generateCode, () => true);
  const replies: WriteReply[] = [];
  const requests = [jobRequest(1, caller, 1_400), other(2, caller)];
  core.run(requests, (some) => replies.push(...some));
  expect(replies).toMatchObject([
    { id: 1, ok: true, value: { value: { processed: 0 } } },
    { id: 2, ok: true },
  ]);
  const links = other === createRequest ? 1 : 0;
  expect(db.get(sqlText('SELECT count(*) AS links FROM links'))).toEqual({ links });
  expect(await store.pendingJobs()).toHaveLength(1);
  await store.close();
});

test('a job that fails while it is accepted leaves nothing', async () => {
  const { db, core, caller, store } = await openParts(
    () => 'aaaaaaa',
    () => true,
  );
  const replies: WriteReply[] = [];
  core.run([jobRequest(1, caller, 600)], (some) => replies.push(...some));
  expect(replies).toMatchObject([{ id: 1, ok: false }]);
  expect(await store.pendingJobs()).toEqual([]);
  expect(db.get(sqlText('SELECT count(*) AS links FROM links'))).toEqual({ links: 0 });
  expect(await linksUsed(store, caller)).toBe(0);
  await store.close();
});

function jobRequest(id: number, caller: Caller, total: number): WriteRequest {
  const input = toJobInput(newLinks(total));
  return { id, name: 'createJob', args: [{ caller, input, now: NOW, runNow: true }] };
}

test('a chunk of another job that waits ends the sharing, so that jobs take turns', async () => {
  const { core, caller, store } = await openParts(generateCode, () => true);
  const [first, second] = [await newJob(store, caller, 2_000), await newJob(store, caller, 2_000)];
  const chunkOf = (id: number, jobId: string): WriteRequest => {
    return { id, name: 'runJobChunk', args: [jobId, NOW] };
  };
  const replies: WriteReply[] = [];
  const run = (requests: WriteRequest[]) => core.run(requests, (some) => replies.push(...some));
  const left = run([chunkOf(1, first), chunkOf(2, first), chunkOf(3, second)]);
  expect(replies).toMatchObject([{ id: 1, value: { processed: 500 } }]);
  run(left.filter(({ id }) => id === 2));
  expect(replies[1]).toMatchObject({ id: 2, value: { processed: 2_000, done: true } });
  await store.close();
});

test('counters of a transaction are written once, however many requests count in it', async () => {
  const { db, core, caller, store } = await openParts();
  const run = vi.spyOn(db, 'run');
  const admissions = (count: number) =>
    Array.from({ length: count }, (_, id): WriteRequest => {
      return { id, name: 'admit', args: [caller, NOW] };
    });
  core.run(admissions(1), () => undefined);
  const forOne = run.mock.calls.length;
  core.run(admissions(200), () => undefined);
  expect(run.mock.calls.length).toBe(2 * forOne);
  run.mockClear();
  core.run(
    Array.from({ length: 50 }, (_, id) => createRequest(id, caller)),
    () => undefined,
  );
  const inserts = run.mock.calls.filter(([statement]) =>
    JSON.stringify(statement).includes('INTO links'),
  );
  expect(inserts).toHaveLength(50);
  expect(run.mock.calls.length - inserts.length).toBeLessThanOrEqual(2);
  const { requests, links, keys } = await store.usage(caller.accountId, NOW);
  expect([requests.minute.used, requests.month.used, links.used]).toEqual([201, 201, 50]);
  expect(keys[0]).toMatchObject({
    requests: { minute: 201, day: 201 },
    history: [{ requests: 201, refused: 0, links: 50 }],
  });
  await store.close();
});

test('a write that fails takes none of its group with it, and leaves nothing of itself', async () => {
  const { core, caller, store } = await openParts();
  const replies: WriteReply[] = [];
  const input = [newLink(), newLink(1, { domain_id: 'dom_nobody' })];
  const failing = {
    id: 2,
    name: 'createBatch',
    args: [{ caller, input, now: NOW }],
  } satisfies WriteRequest;
  core.run([createRequest(1, caller), failing, createRequest(3, caller)], (some) =>
    replies.push(...some),
  );
  expect(replies.map((reply) => reply.ok)).toEqual([true, false, true]);
  expect(replies[1]).toMatchObject({ message: 'There is no domain dom_nobody.' });
  expect(await linksUsed(store, caller)).toBe(2);
  await store.close();
});

test('a code that is taken is drawn again', async () => {
  const draws = ['aaaaaaa', 'aaaaaaa', 'aaaaaaa', 'bbbbbbb', 'bbbbbbb', 'aaaaaaa', 'ccccccc'];
  const { store, caller } = await openParts(() => draws.shift() ?? 'ddddddd');
  const outcome = await store.createBatch({ caller, input: newLinks(3), now: NOW });
  if (!outcome.ok) throw new Error(outcome.reason);
  expect(outcome.value.map((item) => item.code)).toEqual(['aaaaaaa', 'bbbbbbb', 'ccccccc']);
  expect(draws).toEqual([]);
  await store.close();
});

test('when no free code is found, the create fails and gives its place back', async () => {
  let draws = 0;
  const { store, caller } = await openParts(() => {
    draws += 1;
    return 'aaaaaaa';
  });
  await store.createLink({ caller, input: newLink(), now: NOW });
  await expect(store.createLink({ caller, input: newLink(), now: NOW })).rejects.toThrow(
    `No free code was found in ${MAX_CODE_DRAWS} draws.`,
  );
  expect(draws).toBe(1 + MAX_CODE_DRAWS);
  expect(await linksUsed(store, caller)).toBe(1);
  await store.close();
});

test('a full disk fails the writes with words, loses nothing, and is survived', async () => {
  const { db, store, caller } = await openParts();
  const input = newLinks(100).map((link) => ({ ...link, title: 'x'.repeat(255) }));
  const pages = db.get<{ page_count: number }>(sqlText('PRAGMA page_count'))?.page_count ?? 0;
  db.exec(`PRAGMA max_page_count = ${pages + 20}`);
  let created = 0;
  let failure: unknown;
  while (failure === undefined) {
    const outcomes = await Promise.allSettled([
      store.createBatch({ caller, input, now: NOW }),
      store.createBatch({ caller, input, now: NOW }),
    ]);
    for (const outcome of outcomes) {
      if (outcome.status === 'fulfilled') created += input.length;
      else failure = outcome.reason;
    }
  }
  expect(failure).toMatchObject({ name: 'StoreError', reason: 'full' });
  expect(String(failure)).toMatch(/no space is left/);
  expect(await linksUsed(store, caller)).toBe(created);
  expect(db.get(sqlText('SELECT count(*) AS links FROM links'))).toEqual({ links: created });
  expect(store.isHealthy()).toBe(false);

  db.exec('PRAGMA max_page_count = 1000000');
  // Nobody writes, and yet it is noticed.
  await expect.poll(() => store.isHealthy()).toBe(true);
  expect(await store.createBatch({ caller, input, now: NOW })).toMatchObject({ ok: true });
  expect(db.get(sqlText('PRAGMA integrity_check'))).toEqual({ integrity_check: 'ok' });
  await store.close();
});

test('when the disk fails in mid-commit, the outcome of the writes is unknown', async () => {
  const { db, core, store, caller } = await openParts();
  const exec = db.exec.bind(db);
  vi.spyOn(db, 'exec').mockImplementation((sql) => {
    if (sql === 'COMMIT') throw new StoreError('unavailable', 'disk I/O error');
    exec(sql);
  });
  const replies: WriteReply[] = [];
  const requests = [createRequest(1, caller), createRequest(2, caller)];
  core.run(requests, (some) => replies.push(...some));
  expect(replies).toMatchObject([
    { id: 1, ok: false, reason: 'outcome_unknown' },
    { id: 2, ok: false, reason: 'outcome_unknown' },
  ]);
  // Nothing may be tried again: it could be there twice.
  expect(db.exec).toHaveBeenCalledTimes(2);
  vi.restoreAllMocks();
  expect(await store.createLink({ caller, input: newLink(), now: NOW })).toMatchObject({
    ok: true,
  });
  await store.close();
});

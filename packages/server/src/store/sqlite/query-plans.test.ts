import { expect, test } from 'vitest';
import { NOW, newCaller, newLinks, PUBLIC_URL, sha256 } from '../contract/fixtures.test-suite.ts';
import { NO_ID, shortUrlMaker } from '../links.ts';
import { storeReads } from '../methods.ts';
import { exportPage } from '../queries/links.ts';
import { type Reading, read, type Statement, sql, sqlText } from '../queries/reading.ts';
import { Database } from './database.ts';
import { dialect, linkFinder, perform, sqliteEngine } from './engine.ts';
import { openSqliteStore } from './index.ts';
import { useDatabasePath } from './temp-database.test-suite.ts';

const path = useDatabasePath();
const shortUrl = shortUrlMaker(PUBLIC_URL);
const reader = { shortUrl, ...dialect };

interface PlanLine {
  detail: string;
  /** 0 for a line of the outer statement, others for one of a part of it. */
  parent: number;
}

/** What SQLite goes through row by row to carry out a reading; everything else it finds by an index. */
async function scansOf(readingOf: (accountId: string) => Reading<unknown>): Promise<PlanLine[]> {
  return (await planOf(readingOf)).filter(({ detail }) => detail.startsWith('SCAN '));
}

async function planOf(readingOf: (accountId: string) => Reading<unknown>): Promise<PlanLine[]> {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  await store.createBatch({ caller, input: newLinks(3), now: NOW });
  await store.close();
  const db = new Database({ path: path() });
  const plan: PlanLine[] = [];
  read(readingOf(caller.accountId), (statement) => {
    plan.push(...db.all<PlanLine>(sql`${sqlText('EXPLAIN QUERY PLAN')} ${statement}`));
    return db.all(statement);
  });
  db.close();
  return plan;
}

test.each<[string, (accountId: string) => Reading<unknown>]>([
  ['a redirect', () => storeReads.findRedirect(reader, 'Xk3pQ9z')],
  ['an alias', () => storeReads.findRedirect(reader, 'go.example/sale')],
  ['the history of a link', () => storeReads.linkHistory(reader, 'Xk3pQ9z')],
  ['the changes of links', () => storeReads.linkChanges(reader, 1)],
  ['a link', () => storeReads.findLink(reader, 'Xk3pQ9z')],
  ['a key', () => storeReads.findKeyByHash(reader, sha256('sl_x'))],
  ['the keys of an account', (accountId) => storeReads.listKeys(reader, accountId)],
  ['the domains of an account', (accountId) => storeReads.ownedDomains(reader, accountId)],
  [
    'what a key created',
    (accountId) => storeReads.findCreated(reader, accountId, { key: 'k', fingerprint: 'f' }, NOW),
  ],
  ['a job', (accountId) => storeReads.findJob(reader, accountId, 'x')],
  ['the results of a job', () => storeReads.readJobResults(reader, 'x', 0)],
  ['the unfinished jobs', () => storeReads.pendingJobs()],
])('%s: found by an index', async (_, readingOf) => {
  expect(await scansOf(readingOf)).toEqual([]);
});

test('the links of a target are found by the index of their numbers, in its order', async () => {
  await (await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL })).close();
  const db = new ExplainedDatabase({ path: path() });
  const find = linkFinder(db, shortUrl, 'acc_x', 21);
  expect(find([{ target_url: 'x', domain_id: null }])).toEqual([[]]);
  expect(db.plan).toContain('SEARCH links USING INDEX links_target (target_number=?)');
  expect(db.plan.filter((line) => line.includes('TEMP B-TREE'))).toEqual([]);
  expect(find([{ target_url: 'x', domain_id: null, after: NO_ID }])).toEqual([[]]);
  db.close();
  expect(db.plan).toContain('SEARCH links USING INDEX links_target (target_number=? AND <expr>>?)');
  // The numbers that are looked for and the buckets that were found are gone through, and no table.
  expect(db.scans.filter((scan) => !/VIRTUAL TABLE|SCAN (found|CONSTANT ROW)$/.test(scan))).toEqual(
    [],
  );
  // Links of one moment are sorted by their ids; all others are in order.
  expect(db.plan.filter((line) => line.includes('TEMP B-TREE'))).toEqual([
    'USE TEMP B-TREE FOR LAST TERM OF ORDER BY',
  ]);
});

test('the usage of an account is found by indexes; only what was found is gone through', async () => {
  const tables = /\b(links|link_clicks|accounts|api_keys|key_days|key_refusals|request_counters)\b/;
  const scans = await scansOf((accountId) => storeReads.usage(reader, accountId, NOW));
  expect(scans.filter(({ detail }) => tables.test(detail))).toEqual([]);
});

test.each(['', 'docs'])(
  'a list of links (query %j) goes through the links once; clicks, accounts and domains are read of those it shows only',
  async (query) => {
    const search = { query, limit: 50, cursor: '0198a1b2-0000-7000-8000-000000000000' };
    const scans = await scansOf((accountId) =>
      storeReads.listLinks(reader, { accountId, ...search }),
    );
    expect(scans.map(({ detail }) => detail)).toEqual(['SCAN links']);
    // The outer statement, which reads clicks, accounts and domains, finds the links by their codes.
    expect(scans[0]?.parent).not.toBe(0);
  },
);

/** Remembers how SQLite would carry out the statements that it is given; a SCAN goes through rows one by one. */
class ExplainedDatabase extends Database {
  readonly plan: string[] = [];

  get scans(): string[] {
    return this.plan.filter((line) => line.startsWith('SCAN '));
  }

  override run(statement: Statement): number {
    this.#explain(statement);
    return super.run(statement);
  }

  override all<Row extends object>(statement: Statement): Row[] {
    this.#explain(statement);
    return super.all<Row>(statement);
  }

  #explain(statement: Statement): void {
    const plan = super.all<PlanLine>(sql`${sqlText('EXPLAIN QUERY PLAN')} ${statement}`);
    this.plan.push(...plan.map(({ detail }) => detail));
  }
}

test('the housekeeping finds old rows by indexes, since it holds up every other write meanwhile', async () => {
  await (await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL })).close();
  const db = new ExplainedDatabase({ path: path() });
  const engine = sqliteEngine({ db, shortUrl, generateCode: () => '', isIdle: () => false });
  expect(perform(engine, 'pruneSome', [NOW])).toBe(false);
  db.close();
  // It has a row for each process of the last week.
  expect(db.scans).toEqual(['SCAN click_writes']);
});

test('a create finds the record of its idempotency key by an index, however many there are', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const caller = await newCaller(store);
  await store.close();
  const db = new ExplainedDatabase({ path: path() });
  const engine = sqliteEngine({ db, shortUrl, generateCode: () => 'Xk3pQ9z', isIdle: () => false });
  const [input] = newLinks(1);
  const idempotency = { key: 'k', fingerprint: 'f' };
  const create = () => perform(engine, 'createLink', [{ caller, input, now: NOW, idempotency }]);
  expect([create(), create()]).toMatchObject([{ replayed: false }, { replayed: true }]);
  db.close();
  // The keys that are looked for are gone through, and no table.
  expect(db.scans.filter((scan) => !/json_each|CONSTANT ROW/.test(scan))).toEqual([]);
});

test('whether a domain has links is found by an index, before it is removed and then', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const { accountId } = await newCaller(store);
  const hostname = 'go.example';
  await store.addDomain({ hostname, accountId, now: NOW });
  await store.close();
  const db = new ExplainedDatabase({ path: path() });
  const engine = sqliteEngine({ db, shortUrl, generateCode: () => '', isIdle: () => false });
  expect(db.read(storeReads.domainUse(reader, hostname))).toEqual({ links: 0, addresses: 0 });
  const removal = { hostname, force: false, now: NOW };
  expect(perform(engine, 'removeDomain', [removal])).toMatchObject({ ok: true });
  db.close();
  expect(db.scans.filter((scan) => !scan.endsWith('CONSTANT ROW'))).toEqual([]);
});

test.each([
  ['', false],
  ['docs', true],
])('a list of links (query %j) compares texts: %j', (query, compares) => {
  const texts: string[] = [];
  read(storeReads.listLinks(reader, { accountId: 'acc_x', query, limit: 50 }), ({ text }) => {
    texts.push(text);
    return [];
  });
  // In a large account, to compare three texts of each link takes several times as long as to find its links.
  expect(texts.some((text) => text.includes('LIKE'))).toBe(compares);
});

test('the usage of an account reads the last days of a key, not all that are kept', async () => {
  const plan = await planOf((accountId) => storeReads.usage(reader, accountId, NOW));
  const readings = plan.map(({ detail }) => detail).filter((line) => line.includes(' key_days '));
  // The windows, and the two histories. For each history another reading finds the first day and ends there.
  expect(readings.filter((line) => line.includes('(key_id=? AND day>'))).toHaveLength(3);
  expect(readings).toHaveLength(3 + 2);
});

test('the export of an account reads the addresses of its own links only', async () => {
  const store = await openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });
  const few = await newCaller(store);
  const others = await newCaller(store);
  await store.createBatch({ caller: few, input: newLinks(2), now: NOW });
  await store.createBatch({ caller: others, input: newLinks(98), now: NOW });
  await store.close();
  const db = new Database({ path: path() });
  db.exec(
    `INSERT INTO aliases (domain_id, path, code) SELECT '', '/old/' || code, code FROM links`,
  );
  const rows: number[] = [];
  read(exportPage(reader, few.accountId, ''), (statement) => {
    const found = db.all<object>(statement);
    rows.push(found.length);
    return found;
  });
  db.close();
  expect(rows).toEqual([2, 2]);
});

import { expect, test } from 'vitest';
import { NOW, newCaller, newLinks, PUBLIC_URL } from '../contract/fixtures.test-suite.ts';
import { indexAll } from '../contract/lookup.test-suite.ts';
import { sqlText } from '../queries/reading.ts';
import type { Store } from '../store.ts';
import { Database } from './database.ts';
import { openSqliteStore } from './index.ts';
import { migrate, migrations } from './migrate.ts';
import { useDatabasePath } from './temp-database.test-suite.ts';

const path = useDatabasePath();
const open = () => openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });

/** What another program does to the file, such as a server of the version before or the operator. */
function change(text: string): void {
  const db = new Database({ path: path() });
  db.exec(text);
  db.close();
}

const insertLinks = (from: number, to: number) => `
  INSERT INTO links (code, id, account_id, target_url, title, redirect_type, tags, created_at)
  WITH RECURSIVE n(i) AS (SELECT ${from} UNION ALL SELECT i + 1 FROM n WHERE i < ${to})
  SELECT printf('%07d', i), printf('0198a1b2-%04x-7000-8000-000000000000', i), (SELECT id FROM accounts),
    'https://example.com/' || i, '', 302, '[]', ${NOW} FROM n`;

const target = (target_url: string) => ({ target_url, domain_id: null });

async function find(store: Store, accountId: string, ...urls: string[]): Promise<string[][]> {
  const found = await store.findLinks(accountId, urls.map(target), 21);
  return found.map((links) => links.map(({ code }) => code));
}

test('links of before and of a server of the version before are found once all are numbered, in steps', async () => {
  const old = new Database({ path: path() });
  migrate(old, migrations.slice(0, -1), NOW);
  old.exec(
    `INSERT INTO accounts (id, name, plan, limits, created_at) VALUES ('acc_old', 'Old', 'pro', '{}', ${NOW})`,
  );
  old.exec(insertLinks(1, 3_000));
  const store = await open();
  old.exec(insertLinks(3_001, 3_003));
  const steps: boolean[] = [];
  do steps.push((await store.indexLinks()).done);
  while (!steps.at(-1));
  expect(steps).toEqual([false, false, false, true]);
  const url = (n: number) => `https://example.com/${n}`;
  expect(
    await find(store, 'acc_old', url(1), url(1_001), url(3_000), url(3_003), url(3_004)),
  ).toEqual([['0000001'], ['0001001'], ['0003000'], ['0003003'], []]);
  old.exec(insertLinks(3_004, 3_004));
  old.close();
  expect(await store.indexLinks()).toEqual({ done: true });
  expect(await find(store, 'acc_old', url(3_004))).toEqual([['0003004']]);
  await store.close();
});

test('links that a version before put into buckets of 200,000 are found, and those of now', async () => {
  const store = await open();
  const { accountId } = await newCaller(store);
  change(insertLinks(1, 30));
  change('UPDATE links SET rowid = rowid * 100000');
  await indexAll(store);
  change(`
    UPDATE links SET target_number = (target_number & 4294967295) + (rowid / 200000 << 32) WHERE rowid < 2000000`);
  const urls = Array.from({ length: 30 }, (_, n) => `https://example.com/${n + 1}`);
  const codes = urls.map((_, n) => [String(n + 1).padStart(7, '0')]);
  expect(await find(store, accountId, ...urls)).toEqual(codes);
  await store.close();
});

test('housekeeping numbers all links', async () => {
  await (await open()).close();
  change(
    `INSERT INTO accounts (id, name, plan, limits, created_at) VALUES ('acc_old', 'Old', 'pro', '{}', ${NOW})`,
  );
  change(insertLinks(1, 3_000));
  const store = await open();
  await store.prune(NOW);
  expect(await find(store, 'acc_old', 'https://example.com/2999')).toEqual([['0002999']]);
  await store.close();
});

test('a link whose target or domain is changed is found by the new one only; a deleted one by none; others stay as they are', async () => {
  const store = await open();
  const { accountId, ...caller } = await newCaller(store);
  const domain = await store.addDomain({ hostname: 'go.example', accountId, now: NOW });
  const input = newLinks(4);
  await store.createBatch({ caller: { accountId, ...caller }, input, now: NOW });
  const urls = input.map(({ target_url }) => target_url);
  const [first, second, third, fourth] = (await find(store, accountId, ...urls)).map(
    ([code]) => code,
  );
  change(`UPDATE links SET target_url = 'https://example.com/new' WHERE code = '${first}'`);
  change(`UPDATE links SET domain_id = '${domain?.id}' WHERE code = '${second}'`);
  change(`DELETE FROM links WHERE code = '${third}'`);
  // An update that changes neither leaves it as it is, so that look-ups of this moment find it.
  change('UPDATE links SET target_url = target_url, domain_id = domain_id');
  const db = new Database({ path: path(), readOnly: true });
  expect(
    db.all(sqlText('SELECT code FROM links WHERE target_number IS NULL ORDER BY rowid')),
  ).toEqual([{ code: first }, { code: second }]);
  db.close();
  // One step, however many links there are.
  expect(await store.indexLinks()).toEqual({ done: true });
  expect(await find(store, accountId, ...urls, 'https://example.com/new')).toEqual([
    [],
    [],
    [],
    [fourth],
    [first],
  ]);
  const onDomain = { target_url: urls[1] ?? '', domain_id: domain?.id ?? '' };
  const [found] = await store.findLinks(accountId, [onDomain], 21);
  expect(found?.map(({ code }) => code)).toEqual([second]);
  await store.close();
});

test('a link whose id is of the same time as `after` is found, and the time of the file does not matter', async () => {
  const store = await open();
  const { accountId } = await newCaller(store);
  change(insertLinks(1, 30).replaceAll("'https://example.com/' || i", "'https://example.com/x'"));
  await indexAll(store);
  const after = '0198a1b2-0007-7000-8000-000000000000';
  const [found] = await store.findLinks(
    accountId,
    [{ ...target('https://example.com/x'), after }],
    3,
  );
  expect(found?.map(({ code }) => code)).toEqual(['0000008', '0000009', '0000010']);
  await store.close();
});

test.each([
  { count: 30, most: 10 },
  { count: 600, most: 20 },
])(
  'the oldest of $count links of a target come first, however many were created between them',
  async ({ count, most }) => {
    const store = await open();
    const { accountId } = await newCaller(store);
    const rows = insertLinks(1, count).replaceAll(
      "'https://example.com/' || i",
      "'https://example.com/x'",
    );
    change(rows);
    // As if a million links had come between one and the next, of which some have an older id.
    change('UPDATE links SET rowid = 1000000 + (rowid * 7 % 30) * 50000 + rowid / 30');
    await indexAll(store);
    const shown: string[] = [];
    let after: string | undefined;
    for (let page = 0; page < count / most; page += 1) {
      const entry = { ...target('https://example.com/x'), after };
      const [links = []] = await store.findLinks(accountId, [entry], most);
      after = links.at(-1)?.id;
      shown.push(...links.map(({ code }) => code));
    }
    expect(shown).toEqual(Array.from({ length: count }, (_, n) => String(n + 1).padStart(7, '0')));
    await store.close();
  },
);

test.each([3, 600])(
  'of %i links whose targets have one number, those of the target are found',
  async (count) => {
    const store = await open();
    const { accountId } = await newCaller(store);
    const domain = await store.addDomain({ hostname: 'go.example', accountId, now: NOW });
    change(insertLinks(1, count));
    const url = 'https://example.com/1';
    change(`UPDATE links SET target_url = '${url}', domain_id = '${domain?.id}' WHERE rowid = 2`);
    await indexAll(store);
    change('UPDATE links SET target_number = (SELECT target_number FROM links WHERE rowid = 1)');
    expect(await find(store, accountId, url)).toEqual([['0000001']]);
    await store.close();
  },
);

test('however many look-ups run at a time, a turn of the event loop has one step of one of them', async () => {
  const store = await open();
  const { accountId } = await newCaller(store);
  const entries = Array.from({ length: 100 }, (_, n) => target(`https://example.com/${n}`));
  let turns = 0;
  let timer = setImmediate(function turn() {
    turns += 1;
    timer = setImmediate(turn);
  });
  await Promise.all(Array.from({ length: 10 }, () => store.findLinks(accountId, entries, 21)));
  clearImmediate(timer);
  // Each of the 10 has 4 steps of 25 entries.
  expect(turns).toBeGreaterThanOrEqual(39);
  await store.close();
});

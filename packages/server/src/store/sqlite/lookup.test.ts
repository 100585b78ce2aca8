import { expect, test } from 'vitest';
import { NOW, newCaller, PUBLIC_URL } from '../contract/fixtures.test-suite.ts';
import { targetNumber } from '../links.ts';
import type { Store } from '../store.ts';
import { Database } from './database.ts';
import { openSqliteStore } from './index.ts';
import { useDatabasePath } from './temp-database.test-suite.ts';

const path = useDatabasePath();
const open = () => openSqliteStore({ path: path(), publicUrl: PUBLIC_URL });

/** What another program does to the file. */
function change(text: string): void {
  const db = new Database({ path: path() });
  db.exec(text);
  db.close();
}

/** Links of an account as they are in the file, with codes and ids that count up. */
function insertLinks(account_id: string, count: number, urlOf = (n: number) => urlOfNth(n)): void {
  const rows = Array.from({ length: count }, (_, at) => {
    const target_url = urlOf(at + 1);
    const number = targetNumber({ account_id, domain_id: null, target_url });
    const id = `0198a1b2-${(at + 1).toString(16).padStart(4, '0')}-7000-8000-000000000000`;
    return `('${codeOfNth(at + 1)}', '${id}', '${account_id}', '${target_url}', '', 302, 1, '[]', ${NOW}, ${number})`;
  });
  change(`
    INSERT INTO links (code, id, account_id, target_url, title, redirect_type, is_active, tags, created_at, target_number)
    VALUES ${rows.join()}`);
}

const urlOfNth = (n: number) => `https://example.com/${n}`;
const codeOfNth = (n: number) => String(n).padStart(7, '0');

/** Puts links where others would be after millions of creates. */
function moveTo(rowid: string): void {
  change(`UPDATE links SET rowid = ${rowid}`);
  change('UPDATE links SET target_number = target_number + (rowid / 1000000 << 32)');
}

const target = (target_url: string) => ({ target_url, domain_id: null });

async function find(store: Store, accountId: string, ...urls: string[]): Promise<string[][]> {
  const found = await store.findLinks(accountId, urls.map(target), 21);
  return found.map((links) => links.map(({ code }) => code));
}

test('links among millions of others are found, also once they were corrected', async () => {
  const store = await open();
  const { accountId } = await newCaller(store);
  insertLinks(accountId, 30);
  moveTo('rowid * 100000');
  const urls = Array.from({ length: 30 }, (_, at) => urlOfNth(at + 1));
  const codes = urls.map((_, at) => [codeOfNth(at + 1)]);
  expect(await find(store, accountId, ...urls)).toEqual(codes);
  const [target_url, last] = ['https://example.com/new', codeOfNth(30)];
  await store.updateLinks([{ code: last, target_url, by: 'alice', now: NOW }]);
  expect(await find(store, accountId, target_url, urlOfNth(30))).toEqual([[last], []]);
  await store.close();
});

test('a link whose id is of the same time as `after` is found, and the time of the file does not matter', async () => {
  const store = await open();
  const { accountId } = await newCaller(store);
  insertLinks(accountId, 30, () => 'https://example.com/x');
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
    insertLinks(accountId, count, () => 'https://example.com/x');
    // As if a million links had come between one and the next, of which some have an older id.
    moveTo('1000000 + (rowid * 7 % 30) * 50000 + rowid / 30');
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
    insertLinks(accountId, count);
    const url = urlOfNth(1);
    change(`UPDATE links SET target_url = '${url}', domain_id = '${domain?.id}' WHERE rowid = 2`);
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

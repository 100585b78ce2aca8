import { Client } from 'pg';
import { beforeEach, expect, test } from 'vitest';
import {
  finishJob,
  NOW,
  newCaller,
  newJob,
  newLink,
  newLinks,
  PUBLIC_URL,
} from '../contract/fixtures.test-suite.ts';
import { indexAll } from '../contract/lookup.test-suite.ts';
import { isIndexed, shortUrlMaker } from '../links.ts';
import { readAsync, type Statement } from '../queries/reading.ts';
import type { Store } from '../store.ts';
import { findLinks, table } from './engine.ts';
import { openPostgresStore } from './index.ts';
import { toPostgres } from './statement.ts';
import { execute, usePostgres } from './test-postgres.test-suite.ts';

const { newSchema } = usePostgres();
let url: string;

beforeEach(async () => {
  url = await newSchema();
});

const open = () => openPostgresStore({ url, publicUrl: PUBLIC_URL });
const target = (target_url: string) => ({ target_url, domain_id: null });

async function find(store: Store, accountId: string, ...urls: string[]): Promise<string[][]> {
  const found = await store.findLinks(accountId, urls.map(target), 21);
  return found.map((links) => links.map(({ code }) => code));
}

test('links of before and of an instance of the version before are found once all are numbered, in steps', async () => {
  const store = await open();
  const { accountId } = await newCaller(store);
  await execute(
    url,
    `INSERT INTO links (code, id, account_id, target_url, redirect_type, created_at)
     SELECT 'old' || n, gen_random_uuid(), '${accountId}', 'https://example.com/' || n, 302, ${NOW} FROM generate_series(1, 2100) AS n`,
  );
  const steps: boolean[] = [];
  do steps.push((await store.indexLinks()).done);
  while (!steps.at(-1));
  expect(steps).toEqual([false, false, true]);
  const urls = [1, 1_000, 2_100, 2_101].map((n) => `https://example.com/${n}`);
  expect(await find(store, accountId, ...urls)).toEqual([['old1'], ['old1000'], ['old2100'], []]);
  await execute(url, 'UPDATE links SET target_number = NULL');
  await store.prune(NOW);
  expect(await store.indexLinks()).toEqual({ done: true });
  await store.close();
});

test('housekeeping passes over links without a number that somebody has locked, instead of asking for them again and again', async () => {
  const store = await open();
  const caller = await newCaller(store);
  await store.createLink({ caller, input: newLink(), now: NOW });
  await execute(url, 'UPDATE links SET target_number = NULL');
  const client = new Client({ connectionString: url });
  await client.connect();
  await client.query('BEGIN; SELECT FROM links FOR NO KEY UPDATE');
  await store.prune(NOW, AbortSignal.timeout(2_000));
  const writes = await execute(url, 'SELECT sum(number)::int AS number FROM click_writes');
  expect(writes[0]?.['number']).toBeLessThan(50);
  await client.end();
  await store.close();
});

test('a link whose target or domain is changed is found by the new one only; a deleted one by none; others stay as they are', async () => {
  const store = await open();
  const caller = await newCaller(store);
  const { accountId } = caller;
  const domain = await store.addDomain({ hostname: 'go.example', accountId, now: NOW });
  const input = newLinks(4);
  await store.createBatch({ caller, input, now: NOW });
  const urls = input.map(({ target_url }) => target_url);
  const codes = (await find(store, accountId, ...urls)).map(([code]) => code ?? '');
  const [first, second, third, fourth] = codes;
  await execute(
    url,
    `UPDATE links SET target_url = 'https://example.com/new' WHERE code = '${first}'`,
  );
  await execute(url, `UPDATE links SET domain_id = '${domain?.id}' WHERE code = '${second}'`);
  await execute(url, `DELETE FROM links WHERE code = '${third}'`);
  // An update that changes neither leaves it as it is, so that look-ups of this moment find it.
  await execute(url, 'UPDATE links SET target_url = target_url, domain_id = domain_id');
  const unnumbered = await execute(url, 'SELECT code FROM links WHERE target_number IS NULL');
  expect(unnumbered.map(({ code }) => code).toSorted()).toEqual([first, second].toSorted());
  await indexAll(store);
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

test('an instance knows the unfinished jobs that another one accepted or runs, and finds their links when they are done', async () => {
  const [one, other] = [await open(), await open()];
  const caller = await newCaller(one);
  const job = await newJob(one, caller, 1_001);
  expect(await other.unfinishedJobs(caller.accountId)).toEqual([job]);
  await one.runJobChunk(job, NOW);
  expect(await other.unfinishedJobs(caller.accountId)).toEqual([job]);
  await finishJob(one, job);
  expect(await other.unfinishedJobs(caller.accountId)).toEqual([]);
  await indexAll(other);
  const last = newLinks(1_001).at(-1)?.target_url ?? '';
  expect((await find(other, caller.accountId, last))[0]).toHaveLength(1);
  await Promise.all([one.close(), other.close()]);
});

test('the links of a target are found by the index of their numbers, and those without a number by theirs', async () => {
  const client = new Client({ connectionString: url });
  await client.connect();
  // Whether the table is small makes no difference then.
  await client.query('SET enable_seqscan = off');
  const plans: string[] = [];
  const explain = async ({ text, values }: Statement) => {
    const numbered = toPostgres(text);
    const { rows } = await client.query(`EXPLAIN ${numbered}`, [...values]);
    plans.push(rows.map((row) => row['QUERY PLAN']).join('\n'));
    return [];
  };
  await readAsync(
    findLinks({ shortUrl: shortUrlMaker(PUBLIC_URL), table }, 'acc_x', [target('x')], 21),
    explain,
  );
  expect(plans[0]).toMatch(
    /Index Scan using links_target on links.*\n *Index Cond: \(\(target_number = .*\) AND \(id > /,
  );
  await readAsync(isIndexed(), explain);
  expect(plans.at(-1)).toMatch(/using links_without_number on links/);
  await client.end();
});

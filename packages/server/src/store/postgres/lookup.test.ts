import { Client } from 'pg';
import { beforeEach, expect, test } from 'vitest';
import {
  finishJob,
  NOW,
  newCaller,
  newJob,
  newLinks,
  PUBLIC_URL,
} from '../contract/fixtures.test-suite.ts';
import { shortUrlMaker } from '../links.ts';
import { readAsync, type Statement } from '../queries/reading.ts';
import type { Store } from '../store.ts';
import { dialect, findLinks } from './engine.ts';
import { openPostgresStore } from './index.ts';
import { toPostgres } from './statement.ts';
import { usePostgres } from './test-postgres.test-suite.ts';

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

test('an instance knows the unfinished jobs that another one accepted or runs, and finds their links when they are done', async () => {
  const [one, other] = [await open(), await open()];
  const caller = await newCaller(one);
  const job = await newJob(one, caller, 1_001);
  expect(await other.unfinishedJobs(caller.accountId)).toEqual([job]);
  await one.runJobChunk(job, NOW);
  expect(await other.unfinishedJobs(caller.accountId)).toEqual([job]);
  await finishJob(one, job);
  expect(await other.unfinishedJobs(caller.accountId)).toEqual([]);
  const last = newLinks(1_001).at(-1)?.target_url ?? '';
  expect((await find(other, caller.accountId, last))[0]).toHaveLength(1);
  await Promise.all([one.close(), other.close()]);
});

test('the links of a target are found by the index of their numbers', async () => {
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
    findLinks({ shortUrl: shortUrlMaker(PUBLIC_URL), ...dialect }, 'acc_x', [target('x')], 21),
    explain,
  );
  expect(plans[0]).toMatch(
    /Index Scan using links_target on links.*\n *Index Cond: \(\(target_number = .*\) AND \(id > /,
  );
  await client.end();
});

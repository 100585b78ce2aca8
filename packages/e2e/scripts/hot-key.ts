/**
 * Measures how many requests of one key are counted in a second, by three instances at once, against a plain counter row that
 * every request updates. With `--write` the page about sizing shows these figures.
 * Run: `pnpm --filter @shortlink/e2e hot-key [--write]`.
 */
import { createHash } from 'node:crypto';
import { readSettings } from '@shortlink/server';
import { Pool } from 'pg';
import { recordSizing } from '../../bench/src/frame/figures.ts';
import { describeMachine } from '../../bench/src/frame/format.ts';
import { startPostgres } from '../../server/test/start-postgres.ts';
import { createKey, databaseTools } from '../src/inner-server.ts';
import { repeat } from './repeat.ts';

const SECONDS = 5;
const INSTANCES = 3;
/** Links that are clicked in one flush. */
const CLICKED = 500;
/** Requests under way per instance. */
const CONCURRENCY = 64;

async function rate(concurrency: number, call: (count: number) => Promise<unknown>) {
  return Math.round((await repeat({ seconds: SECONDS, concurrency }, call)) / SECONDS);
}

const machine = describeMachine();
const postgres = await startPostgres();
try {
  const pools = Array.from(
    { length: INSTANCES },
    () => new Pool({ connectionString: postgres.url, max: 10 }),
  );
  const [pool] = pools;
  await pool?.query('CREATE TABLE plain (key text PRIMARY KEY, used bigint NOT NULL)');
  await pool?.query("INSERT INTO plain VALUES ('hot', 0)");
  const update = {
    name: 'count',
    text: "UPDATE plain SET used = used + 1 WHERE key = 'hot' AND used < $1 RETURNING used",
    values: [1e15],
  };
  const countedByRow = await rate(CONCURRENCY * INSTANCES, async (count) =>
    pools[count % INSTANCES]?.query(update),
  );
  await pool?.query('DROP TABLE plain');
  await Promise.all(pools.map((one) => one.end()));

  const settings = readSettings({ database: postgres.url, publicUrl: 'https://sho.rt' }, {});
  const open = () => databaseTools(settings).open('https://sho.rt');
  const stores = await Promise.all(Array.from({ length: INSTANCES }, open));
  const [store] = stores;
  if (store === undefined) throw new Error('no store');
  const limits = { requests_per_minute: 1_000_000_000 };
  const account = await store.createAccount({
    name: 'hot',
    plan: 'custom',
    limits,
    now: Date.now(),
  });
  const owner = { accountId: account.id, name: 'hot', permissions: [], now: Date.now() };
  const { key } = await createKey(store, owner);
  const caller = await store.findKeyByHash(createHash('sha256').update(key).digest());
  if (caller === undefined) throw new Error('no key');
  const counted = await rate(CONCURRENCY * INSTANCES, async (count) =>
    stores[count % INSTANCES]?.admit(caller, Date.now()),
  );
  const input = {
    target_url: 'https://example.com/a/page/of/ordinary/length?with=a&query=string',
    title: '',
    redirect_type: 302,
    tags: [],
    domain_id: null,
  } as const;
  const create = (count: number) =>
    stores[count % INSTANCES]?.createLink({ caller, input, now: Date.now() });
  const creates = await rate(CONCURRENCY * INSTANCES, async (count) => create(count));
  const links = Array.from({ length: CLICKED }, () => input);
  const batch = await store.createBatch({ caller, input: links, now: Date.now() });
  if (!batch.ok) throw new Error(batch.reason);
  const clicks = new Map(batch.value.map(({ code = '' }) => [code, 1]));
  const flushes = await rate(INSTANCES, async (count) =>
    stores[count % INSTANCES]?.addClicks(clicks),
  );
  await Promise.all(stores.map((one) => one.close()));
  const figures = { counted, countedByRow, creates, clickedLinks: flushes * CLICKED };
  console.log(figures);
  if (process.argv.includes('--write')) await recordSizing('hotKey', figures, machine);
} finally {
  await postgres.remove();
}

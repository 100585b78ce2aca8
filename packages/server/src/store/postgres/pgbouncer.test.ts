import { afterEach, describe, expect, test } from 'vitest';
import { startPgBouncer, withoutPgBouncer } from '../../../test/start-pgbouncer.ts';
import {
  finishJob,
  linksUsed,
  NOW,
  newCaller,
  newJob,
  newLink,
  newLinks,
  PUBLIC_URL,
} from '../contract/fixtures.test-suite.ts';
import { rowOf, sql } from '../queries/reading.ts';
import { useCuttingProxy } from './cutting-proxy.test-suite.ts';
import { Database } from './database.ts';
import { inspectPostgres, migratePostgres, openPostgresStore } from './index.ts';
import { MIGRATION_LOCK } from './migrate.ts';
import { migrations } from './migrations.ts';
import { execute, usePostgres } from './test-postgres.test-suite.ts';

const { newDatabase } = usePostgres();
const newProxy = useCuttingProxy();

const stops: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

describe.skipIf(withoutPgBouncer !== undefined)(
  `PgBouncer (${withoutPgBouncer ?? 'installed'})`,
  () => {
    describe.each(['session', 'transaction'] as const)('in %s mode', (mode) => {
      /** A database, empty, and its address by way of PgBouncer. */
      async function setUp() {
        const directUrl = await newDatabase();
        const { url, stop } = await startPgBouncer(directUrl, mode);
        stops.push(stop);
        return { url, directUrl };
      }

      test('several instances start at once, and everything works', async () => {
        const { url, directUrl } = await setUp();
        const open = () => openPostgresStore({ url, connections: 4, publicUrl: PUBLIC_URL });
        const stores = await Promise.all([open(), open(), open()]);
        const applied = await execute(
          directUrl,
          'SELECT count(*)::int AS steps FROM schema_migrations',
        );
        expect(applied).toEqual([{ steps: migrations.length }]);
        const [store] = stores;
        const caller = await newCaller(store, { requests_per_minute: 50 });
        const requests = stores.flatMap((each) =>
          Array.from({ length: 40 }, () => each.admit(caller, NOW)),
        );
        const admitted = (await Promise.all(requests)).filter((request) => request.admitted);
        expect(admitted).toHaveLength(50);
        const creates = stores.flatMap((each) =>
          newLinks(40).map((input, n) =>
            each.createLink({
              caller,
              input,
              now: NOW,
              idempotency: { key: `k${n}`, fingerprint: 'f' },
            }),
          ),
        );
        const codes = new Set<string>();
        for (const outcome of await Promise.all(creates)) {
          if (!outcome.ok) throw new Error(outcome.reason);
          codes.add(outcome.value.code);
        }
        expect(codes.size).toBe(40);
        await finishJob(store, await newJob(store, caller, 1_100));
        const [code = ''] = codes;
        await store.addClicks(new Map([[code, 3]]), { writer: 'w', number: 1, now: NOW });
        await store.addClicks(new Map([[code, 3]]), { writer: 'w', number: 1, now: NOW });
        expect(await store.findLink(code)).toMatchObject({ click_count: 3 });
        expect(await store.findRedirect(code)).toBeDefined();
        expect(await store.listLinks({ accountId: caller.accountId, limit: 5 })).toHaveLength(5);
        expect(await linksUsed(store, caller)).toBe(1_140);
        await Promise.all(stores.map((each) => each.close()));
      });

      test('the time limits hold, and nobody else gets them', async () => {
        const { url } = await setUp();
        await migratePostgres(url);
        expect(await inspectPostgres(url)).toMatchObject({ isPooled: true });
        const db = new Database({ url });
        const limits = sql`SELECT current_setting('statement_timeout') AS statement, current_setting('lock_timeout') AS lock,
        current_setting('idle_in_transaction_session_timeout') AS idle`;
        const reads = await Promise.all(Array.from({ length: 20 }, () => db.read(rowOf(limits))));
        expect(new Set(reads.map((row) => JSON.stringify(row)))).toEqual(
          new Set([JSON.stringify({ statement: '3s', lock: '2s', idle: '5s' })]),
        );
        const own = { statement: '5s', lock: '2s', idle: '5s' };
        expect(await db.write(async (run) => (await run(limits))[0])).toEqual(own);
        expect(await db.writeStatement(limits)).toEqual(own);
        const searched = await db.snapshot(async (run) => (await run(limits))[0], 'search');
        expect(searched).toMatchObject({ statement: '1min' });
        const sleep = sql`SELECT pg_sleep(60)`;
        await expect(db.read(rowOf(sleep))).rejects.toMatchObject({ reason: 'busy' });
        for (let n = 0; n < 10; n += 1) {
          expect(await execute(url, 'SHOW statement_timeout')).toEqual([
            { statement_timeout: '0' },
          ]);
        }
        await db.close();
      });

      test('a commit whose response is lost is stored once', async () => {
        const { url, directUrl } = await setUp();
        const proxy = await newProxy(url);
        const store = await openPostgresStore({ url: proxy.url, publicUrl: PUBLIC_URL });
        const caller = await newCaller(store);
        proxy.cuts.push('after COMMIT', 'before COMMIT', 'after COMMIT');
        const outcome = await store.createLink({ caller, input: newLink(), now: NOW });
        expect(outcome).toMatchObject({ ok: true });
        expect(proxy.cuts).toEqual([]);
        expect(await execute(directUrl, 'SELECT count(*)::int AS links FROM links')).toEqual([
          { links: 1 },
        ]);
        await store.close();
      });

      test('the lock of a migration ends with it', async () => {
        const { url, directUrl } = await setUp();
        await migratePostgres(url);
        const locks = () =>
          execute(
            directUrl,
            `SELECT FROM pg_locks WHERE locktype = 'advisory' AND ((classid::bigint << 32) | objid::bigint) = ${MIGRATION_LOCK}`,
          );
        await expect.poll(locks).toEqual([]);
      });
    });
  },
);

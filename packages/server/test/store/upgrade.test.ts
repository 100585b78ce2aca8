import type { BatchResultItem, PlanLimits } from '@shortlink/sdk/wire';
import { describe, expect, test } from 'vitest';
import {
  finishJob,
  NOW,
  newLink,
  newLinks,
  PUBLIC_URL,
  resultsOf,
  sha256,
} from '../../src/store/contract/fixtures.test-suite.ts';
import { indexAll } from '../../src/store/contract/lookup.test-suite.ts';
import { toJobInput } from '../../src/store/links.ts';
import { migratePostgres, openPostgresStore } from '../../src/store/postgres/index.ts';
import { execute, usePostgres } from '../../src/store/postgres/test-postgres.test-suite.ts';
import { sqlText } from '../../src/store/queries/reading.ts';
import { Database } from '../../src/store/sqlite/database.ts';
import { migrateSqlite, openSqliteStore } from '../../src/store/sqlite/index.ts';
import { useDatabasePath } from '../../src/store/sqlite/temp-database.test-suite.ts';
import type { Caller, NewLink, Store, StoredJob } from '../../src/store/store.ts';

/** Links in the database when it is upgraded: more each night, and `pnpm --filter @shortlink/server test:upgrade` takes a million. */
const USUAL = process.env['SHORTLINK_TEST_NIGHT'] === undefined ? 10_000 : 20_000;
const LINKS = Number(process.env['SHORTLINK_UPGRADE_LINKS'] ?? USUAL);
const BATCH = 10_000;

/** The stores of the version before, as `fixtures/previous/build.sh` bundled them: what an instance runs that was not replaced yet. */
async function previous<T>(engine: 'sqlite' | 'postgres'): Promise<T> {
  return import(new URL(`./fixtures/previous/${engine}/index.js`, import.meta.url).href);
}

const LIMITS: PlanLimits = {
  requests_per_minute: null,
  requests_per_day: null,
  requests_per_month: null,
  links: null,
  api_keys: null,
  batch_size: BATCH,
};

/** Something of everything that the version before could store. */
async function fill(old: Store) {
  const account = await old.createAccount({
    name: 'Acme',
    plan: 'custom',
    limits: LIMITS,
    now: NOW,
  });
  const caller = await newCaller(old, account.id, 'ci');
  const domain = await old.addDomain({ hostname: 'go.example', accountId: account.id, now: NOW });
  for (let left = LINKS; left > 0; left -= BATCH) {
    await finishJob(old, await createJob(old, caller, Math.min(left, BATCH)));
  }
  const custom = await createLink(old, caller, { domain_id: domain?.id ?? '', tags: ['a', 'b'] });
  await old.addClicks(new Map([[custom.code, 3]]));
  const half = await createJob(old, caller, 1_200);
  await old.runJobChunk(half, NOW);
  const idempotency = { key: 'once', fingerprint: 'f' };
  const first = await old.createLink({ caller, input: newLink(9), now: NOW, idempotency });
  await old.admit(caller, NOW);
  return { account, caller, domain, custom, half, idempotency, first };
}

async function newCaller(store: Store, accountId: string, secret: string): Promise<Caller> {
  const permissions = ['shortlinks:write'] as const;
  const hash = sha256(secret);
  await store.createKey({ accountId, name: secret, permissions, hash, now: NOW });
  const caller = await store.findKeyByHash(hash);
  if (caller === undefined) throw new Error('the new key is unknown');
  return caller;
}

async function createLink(store: Store, caller: Caller, fields: Partial<NewLink> = {}) {
  const outcome = await store.createLink({ caller, input: newLink(1, fields), now: NOW });
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.value;
}

async function createJob(store: Store, caller: Caller, total: number): Promise<string> {
  const links = newLinks(total);
  // The version before takes the links as they are.
  const input = Object.assign(links, toJobInput(links));
  const outcome = await store.createJob({ caller, input, now: NOW });
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.value.job_id;
}

const DAY_MS = 86_400_000;

/** Counts requests, links and refusals of two keys on several days and in two months, and gives what the store shows of them and of links. */
async function useSome(store: Store) {
  const limits = { ...LIMITS, requests_per_minute: 3, links: 4, batch_size: 3 };
  const input = { name: 'Quiet', plan: 'custom', limits, now: NOW } as const;
  const account = await store.createAccount(input);
  const { id } = account;
  const callers = [await newCaller(store, id, 'first'), await newCaller(store, id, 'second')];
  const codes: string[] = [];
  for (const now of [NOW - 40 * DAY_MS, NOW - DAY_MS, NOW - 120_000, NOW]) {
    for (const caller of [...callers, ...callers]) await store.admit(caller, now);
    for (const [caller, title] of [
      [callers[0], ''],
      [callers[1], 'Ü "x" \\ \u0000'],
    ] as const) {
      if (caller === undefined) throw new Error('there is no key');
      const outcome = await store.createLink({ caller, input: newLink(1, { title }), now });
      if (outcome.ok) codes.push(outcome.value.code);
      await store.createBatch({ caller, input: newLinks(4), now });
    }
  }
  const show = async (store: Store) => {
    const { requests, links, keys } = await store.usage(id, NOW);
    const shown = keys.map((key) => [key.id, key.requests, key.history, key.recent_refusals]);
    const found = await Promise.all(codes.map((code) => store.findLink(code)));
    return { requests, links, shown, found };
  };
  return { account, show, shown: await show(store) };
}

interface Versions {
  old: () => Promise<Store>;
  current: () => Promise<Store>;
}

async function upgradeBesideAnOldInstance({ old: openOld, current: openCurrent }: Versions) {
  const old = await openOld();
  const before = await fill(old);
  const { account, caller } = before;
  const used = await useSome(old);
  expect(used.shown.links.used).toBe(4);

  // The old instance is busy while the new one brings the schema up to date, and not one of its requests fails.
  let migrating = true;
  const created: string[] = [];
  const busy = Promise.all(
    Array.from({ length: 4 }, async () => {
      while (migrating) {
        await old.admit(caller, NOW);
        created.push((await createLink(old, caller)).code);
        await old.findRedirect(before.custom.code);
      }
    }),
  );
  const current = await openCurrent();
  migrating = false;
  await busy;

  // What was stored is as it was.
  expect(await used.show(current)).toEqual(used.shown);
  expect(await current.findLink(before.custom.code)).toEqual({ ...before.custom, click_count: 3 });
  expect(await current.listAccounts()).toEqual([account, used.account]);
  expect(await current.listDomains()).toEqual([before.domain]);
  expect((await current.findKeyByHash(sha256('ci')))?.keyId).toBe(caller.keyId);
  const replay = { caller, input: newLink(9), now: NOW, idempotency: before.idempotency };
  expect(await current.createLink(replay)).toEqual({ ...before.first, replayed: true });
  const stored = LINKS + 1 + 1_200 + 1 + created.length;
  expect((await current.usage(account.id, NOW)).links.used).toBe(stored);
  for (const code of created)
    expect(await current.findRedirect(code)).toMatchObject({ is_active: true });

  // Each goes on with what the other began, and sees what the other stored.
  expect((await finishJob(current, before.half)).at(-1)).toBe(1_200);
  const [ofOld, ofNew] = [await createJob(old, caller, 700), await createJob(current, caller, 700)];
  await Promise.all([finishJob(current, ofOld), finishJob(old, ofNew)]);
  for (const store of [old, current]) {
    for (const id of [ofOld, ofNew, before.half]) {
      const job = await store.findJob(account.id, id);
      expect(job).toMatchObject({ status: 'completed' });
      const results = await allResults(store, job);
      expect(new Set(results.map((item) => item.code)).size).toBe(job?.total);
    }
  }
  for (const [writer, reader] of [
    [old, current],
    [current, old],
  ] as const) {
    const link = await createLink(writer, caller, {
      title: 'Ü "x"',
      domain_id: before.domain?.id ?? '',
    });
    expect(await reader.findLink(link.code)).toEqual(link);
    expect(await reader.findRedirect(link.code)).toMatchObject({ hostname: 'go.example' });
    await reader.setLinkActive(link.code, false);
    expect(await writer.findRedirect(link.code)).toMatchObject({ is_active: false });
    await writer.addClicks(new Map([[link.code, 2]]));
    const other = await newCaller(writer, account.id, `key of ${writer === old}`);
    const secret = `key of ${writer === old}`;
    expect((await reader.findKeyByHash(sha256(secret)))?.keyId).toBe(other.keyId);
    expect(await reader.revokeKey(other.keyId, NOW)).toBeTruthy();
    expect(await writer.findKeyByHash(sha256(secret))).toBeUndefined();
    await writer.addDomain({
      hostname: `${writer === old}.example`,
      accountId: account.id,
      now: NOW,
    });
    expect((await reader.listDomains()).at(-1)?.hostname).toBe(`${writer === old}.example`);
    await writer.prune(NOW);
  }

  // Look-ups find the links of both, also those of before.
  const target = (target_url: string) => ({ target_url, domain_id: null });
  const [byOld, byNew] = ['https://example.com/by-old', 'https://example.com/by-new'];
  const lastOfBatch = newLink(BATCH - 1).target_url;
  const links = [
    await createLink(old, caller, { target_url: byOld }),
    await createLink(current, caller, { target_url: byNew }),
  ];
  await indexAll(current);
  const found = await current.findLinks(account.id, [byOld, byNew, lastOfBatch].map(target), 21);
  expect(found.slice(0, 2)).toEqual(links.map((link) => [link]));
  expect(found[2]).toHaveLength(Math.min(21, LINKS / BATCH));

  // A limit holds over both versions.
  const small = { ...LIMITS, links: 50, requests_per_minute: 40 };
  const input = { name: 'Small', plan: 'custom', limits: small, now: NOW } as const;
  const limited = await newCaller(current, (await old.createAccount(input)).id, 'small');
  const together = <T>(act: (store: Store) => Promise<T>) =>
    Promise.all(Array.from({ length: 80 }, (_, n) => act(n % 2 === 0 ? old : current)));
  const creates = await together((store) =>
    store.createLink({ caller: limited, input: newLink(), now: NOW }),
  );
  expect(creates.filter((outcome) => outcome.ok)).toHaveLength(50);
  const admissions = await together((store) => store.admit(limited, NOW));
  expect(admissions.filter(({ admitted }) => admitted)).toHaveLength(40);
  expect((await current.usage(limited.accountId, NOW)).links.used).toBe(50);

  // What only the new version knows does not stop the old one.
  const keyId = caller.keyId;
  const rotation = { keyId, hash: sha256('rotated'), graceMs: 60_000, now: NOW };
  expect(await current.rotateKey(rotation)).toMatchObject({ ok: true });
  await current.recordKeyUse(keyId, NOW);
  await current.removeDomain({ hostname: 'true.example', force: false, now: NOW });
  await current.setAccountDisabled({ id: limited.accountId, disabled: true, now: NOW });
  expect((await old.findKeyByHash(sha256('rotated')))?.accountId).toBe(account.id);
  expect((await old.usage(account.id, NOW)).keys.length).toBeGreaterThan(1);
  expect(await createLink(old, caller)).toMatchObject({ is_active: true });

  await Promise.all([old.close(), current.close()]);
}

/** The results of a job. The version before gives all of them with the job. */
async function allResults(store: Store, job: StoredJob | undefined): Promise<BatchResultItem[]> {
  if (job === undefined || !('resultsJson' in job)) return resultsOf(store, job);
  return JSON.parse(Buffer.from(job.resultsJson as Uint8Array).toString());
}

describe('an upgrade while an instance of the version before serves on', () => {
  const path = useDatabasePath();
  const { newDatabase } = usePostgres();

  test('on SQLite', { timeout: 600_000 }, async () => {
    const { openSqliteStore: openOld } =
      await previous<Pick<typeof import('../../src/store/sqlite/index.ts'), 'openSqliteStore'>>(
        'sqlite',
      );
    const options = { path: path(), publicUrl: PUBLIC_URL };
    await upgradeBesideAnOldInstance({
      old: () => openOld(options),
      current: () => openSqliteStore(options),
    });
  });

  test('on PostgreSQL', { timeout: 600_000 }, async () => {
    const { openPostgresStore: openOld } =
      await previous<Pick<typeof import('../../src/store/postgres/index.ts'), 'openPostgresStore'>>(
        'postgres',
      );
    const options = { url: await newDatabase(), publicUrl: PUBLIC_URL };
    await upgradeBesideAnOldInstance({
      old: () => openOld(options),
      current: () => openPostgresStore(options),
    });
  });

  test('ends with the schema of a new database, on SQLite', async () => {
    const { openSqliteStore: openOld } =
      await previous<Pick<typeof import('../../src/store/sqlite/index.ts'), 'openSqliteStore'>>(
        'sqlite',
      );
    const [upgraded, created] = [path(), `${path()}.new`];
    await (await openOld({ path: upgraded, publicUrl: PUBLIC_URL })).close();
    for (const file of [upgraded, created]) await migrateSqlite(file);
    const schemaOf = (file: string) => {
      const db = new Database({ path: file });
      const rows = db.all<{ name: string; sql: string | null }>(
        sqlText('SELECT name, sql FROM sqlite_schema ORDER BY type, name'),
      );
      db.close();
      // SQLite keeps the text of each statement, with its comments.
      return rows.map(({ name, sql }) => [name, sql?.replace(/--.*/g, '').replace(/\s+/g, ' ')]);
    };
    expect(schemaOf(upgraded)).toEqual(schemaOf(created));
  });

  test('ends with the schema of a new database, on PostgreSQL', async () => {
    const { openPostgresStore: openOld } =
      await previous<Pick<typeof import('../../src/store/postgres/index.ts'), 'openPostgresStore'>>(
        'postgres',
      );
    const [upgraded, created] = [await newDatabase(), await newDatabase()];
    await (await openOld({ url: upgraded, publicUrl: PUBLIC_URL })).close();
    for (const url of [upgraded, created]) await migratePostgres(url);
    const schemaOf = (url: string) =>
      execute(
        url,
        `SELECT proname AS name, prosrc AS text FROM pg_proc WHERE pronamespace = 'public'::regnamespace
         UNION ALL SELECT tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
         UNION ALL SELECT viewname, definition FROM pg_views WHERE schemaname = 'public'
         UNION ALL SELECT indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
         UNION ALL SELECT table_name || '.' || column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'
         ORDER BY 1, 2`,
      );
    expect(await schemaOf(upgraded)).toEqual(await schemaOf(created));
  });
});

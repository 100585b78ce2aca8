import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { generateCode } from '../../src/domain/ids.ts';
import { JobRunner } from '../../src/jobs/runner.ts';
import {
  finishJob,
  linksUsed,
  NOW,
  newCaller,
  newJob,
  newLinks,
  PUBLIC_URL,
  resultsOf,
} from '../../src/store/contract/fixtures.test-suite.ts';
import { runJobChunk } from '../../src/store/jobs.ts';
import { shortUrlMaker } from '../../src/store/links.ts';
import { Database } from '../../src/store/postgres/database.ts';
import { postgresEngine } from '../../src/store/postgres/engine.ts';
import { openPostgresStore } from '../../src/store/postgres/index.ts';
import { execute, usePostgres } from '../../src/store/postgres/test-postgres.test-suite.ts';
import { readAsync } from '../../src/store/queries/reading.ts';
import type { Caller, Store } from '../../src/store/store.ts';

const { newSchema } = usePostgres();
let url: string;
let stores: [Store, Store, Store];
let caller: Caller;

beforeEach(async () => {
  url = await newSchema();
  const open = () => openPostgresStore({ url, publicUrl: PUBLIC_URL });
  stores = await Promise.all([open(), open(), open()]);
  caller = await newCaller(stores[0]);
});
afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
});

/** A job's links are there, once each and in order. */
async function expectComplete(jobId: string, total: number): Promise<void> {
  const job = await stores[1].findJob(caller.accountId, jobId);
  const results = await resultsOf(stores[1], job);
  expect(results.map((item) => item.target_url)).toEqual(
    newLinks(total).map((link) => link.target_url),
  );
  expect(new Set(results.map((item) => item.code)).size).toBe(total);
}

test('runners of three instances do every job once, whoever accepted it', async () => {
  const runners = stores.map((store) => new JobRunner({ store }));
  await Promise.all(runners.map((runner) => runner.start()));
  const jobs: string[] = [];
  for (let n = 0; n < 12; n += 1) {
    const jobId = await newJob(stores[n % 3] ?? stores[0], caller, 1_100);
    runners[n % 3]?.notify(jobId);
    jobs.push(jobId);
  }
  await expect.poll(() => stores[0].pendingJobs()).toEqual([]);
  await Promise.all(runners.map((runner) => runner.stop()));
  for (const jobId of jobs) await expectComplete(jobId, 1_100);
  expect(await linksUsed(stores[0], caller)).toBe(12 * 1_100);
  const [row] = await execute(url, 'SELECT count(*)::int AS links FROM links');
  expect(row).toEqual({ links: 12 * 1_100 });
});

test('a job whose instance stopped is continued by another instance without a notification', async () => {
  const jobId = await newJob(stores[0], caller, 2_000);
  await stores[0].runJobChunk(jobId, NOW);
  const runner = new JobRunner({ store: stores[1] });
  await runner.start();
  await expect.poll(() => stores[1].pendingJobs()).toEqual([]);
  await runner.stop();
  await expectComplete(jobId, 2_000);
});

test('a job that another instance holds is busy, and free when the connection of that instance ends', async () => {
  const jobId = await newJob(stores[0], caller, 1_000);
  const { Client } = await import('pg');
  const holder = new Client({ connectionString: url });
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT FROM jobs WHERE id = $1 FOR UPDATE', [jobId]);
  const busy = { created: 0, processed: 0, done: false, busy: true };
  expect(await stores[1].runJobChunk(jobId, NOW)).toEqual(busy);
  await holder.end();
  await expect.poll(() => stores[1].runJobChunk(jobId, NOW)).toMatchObject({ created: 500 });
  await finishJob(stores[1], jobId);
  await expectComplete(jobId, 1_000);
});

test('an instance that is paused in the middle of a chunk loses it to another one, and writes nothing when it wakes up', async () => {
  const jobId = await newJob(stores[0], caller, 1_000);
  const engine = postgresEngine({ generateCode, shortUrl: shortUrlMaker(PUBLIC_URL) });
  const db = new Database({ url });
  let wakeUp: (() => void) | undefined;
  const paused = db.write(async (run) => {
    const progress = await readAsync(runJobChunk(engine, jobId, NOW), run);
    if (wakeUp === undefined) {
      await new Promise<void>((resolve) => {
        wakeUp = resolve;
      });
    }
    return progress;
  });
  await expect.poll(() => wakeUp).toBeDefined();
  expect(await stores[1].runJobChunk(jobId, NOW)).toMatchObject({ busy: true });
  await expect.poll(() => stores[1].runJobChunk(jobId, NOW)).toMatchObject({ created: 500 });
  await finishJob(stores[1], jobId);
  wakeUp?.();
  // The session was ended, and its transaction with it. Run again, it finds nothing left to do.
  expect(await paused).toEqual({ created: 0, processed: 1_000, done: true });
  await expectComplete(jobId, 1_000);
  expect(await linksUsed(stores[0], caller)).toBe(1_000);
  await db.close();
});

test('restoring the tables of the schema alone brings the jobs back: nothing else knows of them', async () => {
  const jobId = await newJob(stores[0], caller, 600);
  const schemas = await execute(
    url,
    `SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'`,
  );
  expect(schemas).toEqual([{ nspname: 'public' }]);
  expect(await stores[2].pendingJobs()).toEqual([jobId]);
});

test('two idle instances keep few connections and ask little', async () => {
  const runners = [stores[0], stores[1]].map((store) => new JobRunner({ store }));
  await stores[2].close();
  await Promise.all(runners.map((runner) => runner.start()));
  const sample = async () => {
    const [row] = await execute(
      url,
      `SELECT xact_commit::int AS commits, (SELECT count(*)::int FROM pg_stat_activity
         WHERE datname = current_database() AND pid <> pg_backend_pid()) AS connections
       FROM pg_stat_database WHERE datname = current_database()`,
    );
    return { commits: Number(row?.['commits']), connections: Number(row?.['connections']) };
  };
  // Connections that opening needed are closed after ten seconds.
  await expect
    .poll(async () => (await sample()).connections, { interval: 1_000 })
    .toBeLessThanOrEqual(4);
  /** How far what they ask for is above what they may: each looks for jobs once a second, and two samples are a few statements. */
  const surplus = async () => {
    const startedAt = performance.now();
    const before = await sample();
    await sleep(4_000);
    const asked = (await sample()).commits - before.commits;
    return asked - (3 * ((performance.now() - startedAt) / 1_000) + 10);
  };
  // The database counts its own housekeeping too, which may come once.
  await expect.poll(surplus).toBeLessThan(0);
  await Promise.all(runners.map((runner) => runner.stop()));
});

import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { createKey } from '../../src/admin/keys.ts';
import { generateCode } from '../../src/domain/ids.ts';
import { createLogger } from '../../src/logger.ts';
import { createService } from '../../src/service.ts';
import { shortUrlMaker } from '../../src/store/links.ts';
import {
  type CuttingProxy,
  useCuttingProxy,
} from '../../src/store/postgres/cutting-proxy.test-suite.ts';
import { Database } from '../../src/store/postgres/database.ts';
import { migratePostgres } from '../../src/store/postgres/index.ts';
import { postgresStore } from '../../src/store/postgres/postgres-store.ts';
import type { Store } from '../../src/store/store.ts';
import { execute, type PostgresProcess, startPostgres } from '../start-postgres.ts';

const PUBLIC_URL = 'https://sho.rt';

/** `pnpm failovers` does more of them than the suite. */
const FAILOVERS = Number(process.env['SHORTLINK_FAILOVERS'] ?? 2);

const newProxy = useCuttingProxy();
const servers: PostgresProcess[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) await server.remove();
});

/** A primary with a synchronous standby. */
interface Pair {
  primary: PostgresProcess;
  standby: PostgresProcess;
  /** Between the two. */
  replication: CuttingProxy;
}

/** Gives a primary a standby, and lets every commit wait for it from now on. */
async function pairUp(primary: PostgresProcess): Promise<Pair> {
  const copy = await primary.copy();
  const replication = await newProxy(primary.url);
  const standby = await copy.start(['fsync=off'], { port: Number(new URL(replication.url).port) });
  const streaming = () =>
    execute(primary.url, `SELECT FROM pg_stat_replication WHERE state = 'streaming'`);
  await expect.poll(streaming).toHaveLength(1);
  await execute(primary.url, `ALTER SYSTEM SET synchronous_standby_names = '*'`);
  await execute(primary.url, 'SELECT pg_reload_conf()');
  await expect
    .poll(() => execute(primary.url, `SELECT FROM pg_stat_replication WHERE sync_state = 'sync'`))
    .toHaveLength(1);
  return { primary, standby, replication };
}

async function newServer(): Promise<PostgresProcess> {
  const server = await startPostgres(['fsync=off']);
  servers.push(server);
  return server;
}

/** Creates, batches, jobs and redirects, over two instances of the service, and every response to them. */
class Load {
  readonly #services: ReturnType<typeof createService>[] = [];
  readonly #stores: Store[] = [];
  readonly #workers: Promise<void>[] = [];
  #apiKey = '';
  #number = 0;
  #stopping = false;
  /** Statuses of creates, by the targets of their links. */
  readonly creates: { status: number; targets: string[]; codes: string[] }[] = [];
  redirects = 0;
  /** Lines of the log about responses with 500. */
  readonly failures: string[] = [];

  static async start(url: string): Promise<Load> {
    const load = new Load();
    await migratePostgres(url);
    for (let n = 0; n < 2; n += 1) {
      // On a busy machine, a promotion takes longer than the 10 s for which the outcome of a commit is asked.
      const db = new Database({ url, outcomeWaitMs: 60_000 });
      const store = postgresStore({ db, generateCode, shortUrl: shortUrlMaker(PUBLIC_URL) });
      const logger = createLogger('error', (line) => {
        if (line.includes('request failed')) load.failures.push(line);
      });
      const service = createService({ store, publicUrl: PUBLIC_URL, logger });
      await service.start();
      load.#stores.push(store);
      load.#services.push(service);
    }
    const [store] = load.#stores;
    if (store === undefined) throw new Error('no store');
    const now = Date.now();
    const account = await store.createAccount({ name: 'test', plan: 'custom', limits: {}, now });
    const permissions = ['shortlinks:write'] as const;
    const key = await createKey(store, { accountId: account.id, name: 'test', permissions, now });
    load.#apiKey = key.key;
    return load;
  }

  run(): void {
    this.#stopping = false;
    const every = [
      () => this.#create(1),
      () => this.#create(1),
      () => this.#create(7),
      () => this.#create(620),
    ];
    for (const [n, send] of [
      ...every,
      ...every,
      () => this.#follow(),
      () => this.#create(1),
    ].entries()) {
      this.#workers.push(this.#repeat(send, n));
    }
  }

  async #repeat(send: () => Promise<void>, n: number): Promise<void> {
    while (!this.#stopping) {
      await send();
      // Jobs of hundreds of links are to wait for others, but not for minutes.
      await delay(20 + n);
    }
  }

  /** Ends when every request has its response. */
  async pause(): Promise<void> {
    this.#stopping = true;
    await Promise.all(this.#workers.splice(0));
  }

  /** Resolves after some more links were created. */
  async progress(): Promise<void> {
    const done = () => this.creates.filter(({ status }) => status === 201).length;
    const before = done();
    await expect.poll(() => done() - before).toBeGreaterThan(30);
  }

  async pendingJobs(): Promise<string[]> {
    return (await this.#stores[0]?.pendingJobs()) ?? [];
  }

  async stop(): Promise<void> {
    await this.pause();
    for (const service of this.#services) await service.stop();
    for (const store of this.#stores) await store.close();
  }

  #fetch(path: string, init?: RequestInit): Promise<Response> {
    const service = this.#services[this.#number % 2];
    if (service === undefined) throw new Error('no service');
    return Promise.resolve(service.fetch(new Request(`${PUBLIC_URL}${path}`, init)));
  }

  async #create(links: number): Promise<void> {
    this.#number += 1;
    const targets = Array.from(
      { length: links },
      (_, n) => `https://example.com/${this.#number}/${n}`,
    );
    const inputs = targets.map((target_url) => ({ target_url }));
    const response = await this.#fetch(links === 1 ? '/api/v1/links' : '/api/v1/links/batch', {
      method: 'POST',
      headers: {
        'X-Api-Key': this.#apiKey,
        'Content-Type': 'application/json',
        ...(this.#number % 2 === 0 && { 'Idempotency-Key': `k${this.#number}` }),
      },
      body: JSON.stringify(links === 1 ? inputs[0] : { links: inputs }),
    });
    const { status } = response;
    const body: { code: string; results?: { code: string }[] } = JSON.parse(await response.text());
    const made = body.results ?? [body];
    this.creates.push({ status, targets, codes: status < 202 ? made.map(({ code }) => code) : [] });
  }

  async #follow(): Promise<void> {
    const code = this.creates.find(({ codes }) => codes.length > 0)?.codes[0];
    if (code === undefined) return;
    const response = await this.#fetch(`/${code}`);
    if (response.status === 302) this.redirects += 1;
  }
}

/** Compares every response with what the database holds. */
async function expectTruth(load: Load, url: string): Promise<void> {
  const rows = await execute(url, 'SELECT code, target_url FROM links');
  const codes = new Map<string, string[]>();
  for (const { code, target_url } of rows) {
    const target = String(target_url);
    codes.set(target, [...(codes.get(target) ?? []), String(code)]);
  }
  const wrong = load.creates.filter(({ status, targets, codes: acknowledged }) => {
    const stored = targets.map((target) => codes.get(target) ?? []);
    if (status === 201 || status === 200)
      return stored.some((found, n) => found.length !== 1 || found[0] !== acknowledged[n]);
    const counts = new Set(stored.map((found) => found.length));
    const allowed = status === 202 ? [1] : status === 503 ? [0] : [0, 1];
    return counts.size > 1 || !allowed.some((count) => counts.has(count));
  });
  expect(wrong.map(({ status, targets }) => `${status} ${targets[0]}`)).toEqual([]);
  const [total] = await execute(url, 'SELECT sum(used)::int AS used FROM link_totals');
  expect(total).toEqual({ used: rows.length });
}

test('over failovers, what was acknowledged is stored once, and what was refused is not', {
  timeout: 60_000 + FAILOVERS * 60_000,
}, async () => {
  const first = await newServer();
  const address = await newProxy(first.url);
  const load = await Load.start(address.url);
  let primary = first;
  for (let round = 0; round < FAILOVERS; round += 1) {
    const { standby, replication } = await pairUp(primary);
    load.run();
    await load.progress();
    replication.block(true);
    const waiting = () =>
      execute(primary.url, `SELECT pid FROM pg_stat_activity WHERE wait_event = 'SyncRep'`);
    await expect.poll(async () => (await waiting()).length).toBeGreaterThan(2);
    if (round % 2 === 1) {
      // What has not reached the standby counts as committed on the primary when its session is ended.
      for (const { pid } of await waiting()) {
        await execute(primary.url, `SELECT pg_terminate_backend(${Number(pid)})`);
      }
      await delay(1_000);
    }
    await execute(standby.url, 'SELECT pg_promote()');
    address.leadTo(standby.url);
    address.block(true);
    address.block(false);
    await load.progress();
    await load.pause();
    await expect.poll(() => load.pendingJobs()).toEqual([]);
    await expectTruth(load, standby.url);
    await primary.kill();
    primary = standby;
  }
  await load.stop();
  await expectTruth(load, primary.url);
  const [clicks] = await execute(primary.url, 'SELECT sum(clicks)::int AS clicks FROM link_clicks');
  expect(clicks).toEqual({ clicks: load.redirects });
  expect(load.failures).toEqual([]);
});

test('a create whose commit was lost with its database is made again in the restored backup', async () => {
  const server = await newServer();
  const address = await newProxy(server.url);
  const load = await Load.start(address.url);
  load.run();
  await load.progress();
  await load.pause();
  const backup = await server.copy();
  load.run();
  await load.progress();
  address.cuts.push('after COMMIT, for good');
  await expect.poll(() => address.cuts).toEqual([]);
  await server.kill();
  load.creates.splice(0);
  const restored = await backup.start(['fsync=off']);
  address.leadTo(restored.url);
  address.block(false);
  await load.progress();
  await load.pause();
  await expect.poll(() => load.pendingJobs()).toEqual([]);
  await expectTruth(load, restored.url);
  await load.stop();
});

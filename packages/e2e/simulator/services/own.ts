import {
  type MadeLink,
  madeLink,
  type Service,
  type ServiceRequest,
  type ServiceResponse,
} from '../../../sdk/test/scripted-service/service.ts';
import type { ServiceTraits } from '../../../sdk/test/scripted-service/traits.ts';
import type { WriteCore, WriteReply } from '../../../server/src/store/sqlite/write-core.ts';
import type { Writer } from '../../../server/src/store/sqlite/writers.ts';
import type { Owner, Scheduler } from '../kernel/scheduler.ts';
import { EPOCH_MS } from '../world/world.ts';

/** The parts of our own server, loaded from its sources. `titles` is put into them for the simulation. */
export type OwnServer = {
  titles: { isLenient: boolean };
} & typeof import('../../../server/src/app.ts') &
  typeof import('../../../server/src/api-key.ts') &
  typeof import('../../../server/src/domain/hostnames.ts') &
  typeof import('../../../server/src/domain/job-pace.ts') &
  typeof import('../../../server/src/metrics/metrics.ts') &
  typeof import('../../../server/src/jobs/runner.ts') &
  typeof import('../../../server/src/store/links.ts') &
  typeof import('../../../server/src/store/sqlite/database.ts') &
  typeof import('../../../server/src/store/sqlite/migrate.ts') &
  typeof import('../../../server/src/store/sqlite/sqlite-store.ts') &
  typeof import('../../../server/src/store/sqlite/write-core.ts');

/** A process of the server: when it is killed, nothing that it waits for happens. */
interface Instance extends Owner {
  fetch: (request: Request) => Response | Promise<Response>;
  reportDeath: (nothing: undefined) => void;
  death: Promise<undefined>;
}

/** Of this runtime: the stand-in that clients have is too little for a server. */
const { Request: WholeRequest } = globalThis;

const PUBLIC_URL = 'https://sho.rt';
const ACCOUNT = 'acc_simulated';

/**
 * Our own server: its app and its job runner, on SQLite in memory, which survives the processes. Requests and the chunks of jobs are
 * events of the simulation. What an operator does happens in the database, as from another process.
 */
export class OwnService implements Service {
  readonly #server: OwnServer;
  readonly #traits: ServiceTraits;
  readonly #scheduler: Scheduler;
  readonly #now: () => number;
  readonly #db: OwnDatabase;
  readonly #made: MadeLink[] = [];
  /** Number of the request that each code was drawn for, and each job accepted. */
  readonly #requests = new Map<string, number>();
  /** The request whose work is done now. */
  #working = 0;
  #instance: Instance;

  constructor(server: OwnServer, traits: ServiceTraits, scheduler: Scheduler) {
    this.#server = server;
    this.#traits = traits;
    this.#scheduler = scheduler;
    // Its clock stays right when that of the client jumps.
    this.#now = () => EPOCH_MS + scheduler.elapsed;
    this.#db = spare.pop() ?? newDatabase(server);
    const { perMinute, perDay, links, batchSize } = traits;
    this.#db.run({
      text: 'INSERT INTO accounts (id, name, plan, limits, created_at) VALUES (?, ?, ?, ?, ?)',
      values: [
        ACCOUNT,
        'simulated',
        'custom',
        limitsOf(perMinute, perDay, links, batchSize),
        this.#now(),
      ],
    });
    this.#db.run({ text: 'INSERT INTO link_totals (account_id) VALUES (?)', values: [ACCOUNT] });
    this.#instance = this.#start();
  }

  get made(): readonly MadeLink[] {
    const text =
      'SELECT code, target_url, domain_id, title, tags, redirect_type FROM links ORDER BY rowid LIMIT -1 OFFSET ?';
    for (const row of this.#db.all<LinkRow>({ text, values: [this.#made.length] })) {
      const { code, domain_id } = row;
      const entry = { ...row, domain_id: domain_id ?? undefined, tags: JSON.parse(row.tags) };
      this.#made.push(madeLink(code, entry, this.#requests.get(code) ?? 0));
    }
    return this.#made;
  }

  async handle(request: ServiceRequest, number: number): Promise<ServiceResponse | undefined> {
    const { method, path, headers, body } = request;
    const instance = this.#instance;
    this.#working = number;
    const url = `https://api.example${path}`;
    const asked = new WholeRequest(url, { method, headers, body: body ?? null });
    const answer = this.#scheduler.run(instance, () => instance.fetch(asked));
    const response = await Promise.race([answer, instance.death]);
    if (response === undefined) return undefined;
    const text = await response.text();
    const job = response.status === 202 ? /"job_id":"([^"]+)"/.exec(text)?.[1] : undefined;
    if (job !== undefined && !this.#requests.has(job)) this.#requests.set(job, number);
    return { status: response.status, headers: Object.fromEntries(response.headers), body: text };
  }

  /** The process is killed, and another one takes up its jobs. */
  restart(): void {
    this.#instance.isAlive = false;
    this.#instance.reportDeath(undefined);
    this.#instance = this.#start();
  }

  settle(): void {
    // Its jobs are events of their own.
  }

  setKey(key: string, mayWrite: boolean): void {
    const permissions = JSON.stringify([mayWrite ? 'shortlinks:write' : 'analytics:read']);
    this.#db.run(plain('DELETE FROM api_keys'));
    this.#db.run({
      text: 'INSERT INTO api_keys (id, account_id, name, permissions, hash, created_at) VALUES (?, ?, ?, ?, ?, ?)',
      values: [
        'key_simulated',
        ACCOUNT,
        'key',
        permissions,
        this.#server.hashApiKey(key),
        this.#now(),
      ],
    });
  }

  setLinkLimit(links: number): void {
    const text = "UPDATE accounts SET limits = json_set(limits, '$.links', ?)";
    this.#db.run({ text, values: [links] });
  }

  setLenient(isLenient: boolean): void {
    this.#server.titles.isLenient = isLenient;
  }

  useUp(links: number): void {
    this.#db.run({
      text: `UPDATE link_totals SET used = used + min(?, max(0, coalesce((SELECT limits ->> 'links' FROM accounts WHERE id = account_id), 1e9) - used))`,
      values: [links],
    });
  }

  unlimit(): void {
    const values = [limitsOf(null, null, null, this.#traits.batchSize)];
    this.#db.run({ text: 'UPDATE accounts SET limits = ?', values });
  }

  close(): void {
    empty(this.#db);
    spare.push(this.#db);
  }

  #start(): Instance {
    const { createApp, JobPace, JobRunner, Metrics, ownHostsOf } = this.#server;
    const { shortUrlMaker, sqliteStore, WriteCore } = this.#server;
    const shortUrl = shortUrlMaker(PUBLIC_URL);
    const core = new WriteCore({
      db: this.#db,
      shortUrl,
      generateCode: () => {
        const code = `c${this.#requests.size}`;
        this.#requests.set(code, this.#working);
        return code;
      },
      isIdle: () => false,
    });
    const store = sqliteStore({
      reader: this.#db,
      writer: writerAtOnce(core),
      shortUrl,
    });
    const runner = new JobRunner({
      store: {
        pendingJobs: () => store.pendingJobs(),
        runJobChunk: async (id, now) => {
          const ms = this.#traits.msPerLink * this.#server.JOB_CHUNK_LINKS;
          await this.#scheduler.sleep(instance, ms);
          this.#working = this.#requests.get(id) ?? 0;
          return await store.runJobChunk(id, now);
        },
      },
      now: this.#now,
    });
    const app = createApp({
      store,
      publicUrl: PUBLIC_URL,
      now: this.#now,
      metrics: new Metrics(),
      ownHosts: async () => ownHostsOf(PUBLIC_URL, await store.listDomains({ removed: true })),
      jobs: { notify: (id) => runner.notify(id), pendingJobs: 0 },
      jobPace: new JobPace(),
      onClick: () => undefined,
      redirects: { find: (code) => store.findRedirect(code), has: () => false },
      isDraining: () => false,
    });
    let reportDeath: Instance['reportDeath'] = () => undefined;
    const death = new Promise<undefined>((resolve) => {
      reportDeath = resolve;
    });
    const fetch = (request: Request) => app.fetch(request);
    const instance: Instance = { name: 'server', isAlive: true, fetch, reportDeath, death };
    // As a runner finds them when it starts. Its own look every second would fill the days between two runs with events.
    const pending = this.#db.all<{ id: string }>(
      plain('SELECT id FROM jobs WHERE completed_at IS NULL'),
    );
    this.#scheduler.run(instance, () => {
      for (const { id } of pending) runner.notify(id);
    });
    return instance;
  }
}

/**
 * Writes in the event of the request or the chunk that asks for it, so that each code is drawn for the one whose work is done. A queue
 * would write for several together.
 */
function writerAtOnce(core: WriteCore): Writer {
  return {
    isHealthy: true,
    submit: async (name, ...args) => {
      const replies: WriteReply[] = [];
      core.run([{ id: 1, name, args }], (some) => replies.push(...some));
      const [reply] = replies;
      if (!reply?.ok) throw new Error(`${name}: ${reply?.message ?? 'no reply'}`);
      return reply.value as never;
    },
    close: async () => undefined,
  };
}

type OwnDatabase = InstanceType<OwnServer['Database']>;

/** A database is made once and emptied for the next scenario: its tables and statements take longer to make than a scenario to play. */
const spare: OwnDatabase[] = [];

/** A statement without values. */
const plain = (text: string) => ({ text, values: [] });

function newDatabase(server: OwnServer): OwnDatabase {
  const db = new server.Database({ path: ':memory:' });
  server.migrate(db, server.migrations, EPOCH_MS);
  db.exec('PRAGMA temp_store = MEMORY');
  return db;
}

function empty(db: OwnDatabase): void {
  db.rollback();
  const ours =
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT IN ('schema_migrations', 'sqlite_sequence')";
  const tables = db.all<{ name: string }>(plain(ours));
  db.exec('PRAGMA foreign_keys = OFF');
  // Twice: triggers write what was removed from one table into another.
  for (const { name } of [...tables, ...tables]) db.run(plain(`DELETE FROM ${name}`));
  db.exec('PRAGMA foreign_keys = ON');
}

interface LinkRow {
  code: string;
  target_url: string;
  domain_id: string | null;
  title: string;
  tags: string;
  redirect_type: number;
}

function limitsOf(
  perMinute: number | null,
  perDay: number | null,
  links: number | null,
  batchSize: number,
): string {
  return JSON.stringify({
    requests_per_minute: perMinute,
    requests_per_day: perDay,
    requests_per_month: null,
    links,
    api_keys: 3,
    batch_size: batchSize,
  });
}

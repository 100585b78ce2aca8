import { threadId } from 'node:worker_threads';
import { Client, types } from 'pg';
import { execute, type PostgresProcess } from '../../../server/test/start-postgres.ts';
import type { Store } from '../../src/inner-server.ts';
import type { Random } from '../kernel/random.ts';
import { type Owner, outside, type Scheduler } from '../kernel/scheduler.ts';
import type { Base, BaseEvents, MakeBase } from './base.ts';
import { Failover } from './failover.ts';
import type { Server } from './load-server.ts';
import { makeGates } from './postgres-gate.ts';
import { Pair, startSource } from './postgres-pair.ts';
import { type Connected, Session, Wire, withSession } from './postgres-wire.ts';
import { PUBLIC_URL } from './world.ts';

/** Where the address of the PostgreSQL that is simulated on stands. */
export const DATABASE = 'SHORTLINK_SIMULATED_DATABASE';

type Postgres = NonNullable<Server['postgres']>;

/** Connections of a process: one reads, the others write. */
const CONNECTIONS = 4;

/** How often a statement that inserts rows is stopped on the way. */
const GATED_SHARE = 0.6;

/** A database with the tables of each variant of the server, which histories are copies of. */
const templates = new Map<Postgres, Promise<string>>();

/** A server with these tables, which the two of a history with a standby are copies of. */
const sources = new Map<Postgres, Promise<PostgresProcess>>();

let databases = 0;

/** Ends all servers that histories had for themselves. */
export async function removeSources(): Promise<void> {
  await Promise.all([...sources.values()].map(async (source) => (await source).remove()));
}

/**
 * A new database on the server that the environment names, or one on a server of its own.
 *
 * @param hasStandby - whether there is another server, which takes over when the first is lost
 */
export async function newPostgresBase(
  postgres: Postgres,
  { shortUrlMaker }: Server,
  random: Random,
  hasStandby: boolean,
): Promise<MakeBase> {
  const pair = hasStandby ? await Pair.start(await made(sources, postgres, sourceOf)) : undefined;
  const url = pair?.url ?? (await makeDatabase(await made(templates, postgres, makeTemplate)));
  const watch = await Watch.open(url);
  return (events, scheduler) =>
    new PostgresBase({ postgres, shortUrlMaker, random, events, scheduler, watch, pair });
}

/** What a variant of the server needs once, made when it is first needed. */
function made<T>(
  known: Map<Postgres, Promise<T>>,
  postgres: Postgres,
  make: (postgres: Postgres) => Promise<T>,
): Promise<T> {
  const promise = known.get(postgres) ?? make(postgres);
  known.set(postgres, promise);
  return promise;
}

/** The simulation's own connections to a database. What is asked about locks must not wait for one itself. */
class Watch {
  readonly url: string;
  readonly observer: Client;
  readonly reader: Client;

  private constructor(url: string) {
    this.url = url;
    this.observer = newClient(url);
    this.reader = newClient(url);
  }

  static async open(url: string): Promise<Watch> {
    const watch = new Watch(url);
    await Promise.all([watch.observer.connect(), watch.reader.connect()]);
    return watch;
  }

  async end(): Promise<void> {
    await Promise.all([this.observer.end(), this.reader.end()]);
  }
}

function newClient(connectionString: string): Client {
  const { INT8 } = types.builtins;
  const client = new Client({ connectionString });
  client.setTypeParser(INT8, Number);
  // Its server may be lost.
  client.on('error', () => undefined);
  return client;
}

async function makeTables({ migratePostgres }: Postgres, url: string): Promise<void> {
  await migratePostgres(url);
  await makeGates(url);
}

const sourceOf = (postgres: Postgres) => startSource((url) => makeTables(postgres, url));

async function makeTemplate(postgres: Postgres): Promise<string> {
  const url = await makeDatabase('template1');
  await makeTables(postgres, url);
  return nameOf(url);
}

async function makeDatabase(template: string): Promise<string> {
  const server = process.env[DATABASE] ?? '';
  databases += 1;
  const name = `simulated_${process.pid}_${threadId}_${databases}`;
  await execute(server, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
  return Object.assign(new URL(server), { pathname: `/${name}` }).href;
}

function nameOf(url: string): string {
  return new URL(url).pathname.slice(1);
}

interface Parts {
  postgres: Postgres;
  shortUrlMaker: Server['shortUrlMaker'];
  random: Random;
  events: BaseEvents;
  scheduler: Scheduler;
  watch: Watch;
  pair: Pair | undefined;
}

/** A database of a real PostgreSQL, whose connections are lost now and then. */
class PostgresBase implements Base {
  /** A call waits for a connection, or for others of its account, for 3 s at most. */
  readonly hurryMs = 5_000;
  readonly readsFail = true;
  readonly failover: Failover | undefined;
  readonly #parts: Parts;
  readonly #wire: Wire;
  readonly #sessions = new Map<Owner, Session[]>();
  /** A connection reads one after the other. */
  #reads: Promise<unknown> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
    const { scheduler, events, random, watch, pair } = parts;
    const isBefore = () => random.chance(0.5);
    const drawGate = () => (random.chance(GATED_SHARE) ? (random.chance(0.5) ? 0 : 1) : undefined);
    const onDeadlock = (text: string) => events.onWrong(`a deadlock ends ${text.slice(0, 80)}`);
    this.#wire = new Wire(watch, scheduler, { ...events, isBefore, drawGate, onDeadlock });
    if (pair === undefined) return;
    this.failover = new Failover({
      scheduler,
      silence: () => this.#wire.real(() => pair.silence()),
      cut: () => this.#wire.real(() => pair.cut()),
      endWaiting: () => this.#wire.real(() => pair.endWaiting()),
      promote: () => this.#wire.real(() => pair.promote((url) => this.#leadTo(url))),
    });
    this.#wire.failover = this.failover;
  }

  async rows<T extends object>(sql: string, ...values: (string | number)[]): Promise<T[]> {
    const { watch, postgres } = this.#parts;
    const { processID } = watch.reader as unknown as Connected;
    const read = () => watch.reader.query<T>(postgres.toPostgres(sql), values);
    const result = this.#reads.then(read);
    this.#reads = result.catch(() => undefined);
    return this.#wire.real(async () => (await result).rows, processID);
  }

  openStore(owner: Owner, mayFail: boolean): Store {
    const { postgres, shortUrlMaker, watch, events } = this.#parts;
    const { url } = watch;
    const session = new Session(this.#wire, owner, mayFail);
    this.#sessions.set(owner, [...(this.#sessions.get(owner) ?? []), session]);
    const db = withSession(session, () => new postgres.Database({ url, connections: CONNECTIONS }));
    const shortUrl = shortUrlMaker(PUBLIC_URL);
    return postgres.postgresStore({ db, generateCode: events.generateCode, shortUrl });
  }

  forget(owner: Owner): void {
    for (const session of this.#sessions.get(owner) ?? []) session.end();
    this.#sessions.delete(owner);
  }

  async close(): Promise<void> {
    for (const owner of [...this.#sessions.keys()]) this.forget(owner);
    const { watch, pair } = this.#parts;
    await outside(() => watch.end());
    if (pair !== undefined) return pair.remove();
    await execute(process.env[DATABASE] ?? '', `DROP DATABASE ${nameOf(watch.url)} WITH (FORCE)`);
  }

  /** Another server is the database from now on, and all connections are lost. */
  async #leadTo(url: string): Promise<void> {
    const old = this.#parts.watch;
    const watch = await Watch.open(url);
    Object.assign(this.#parts, { watch });
    this.#wire.watch = watch;
    for (const session of [...this.#sessions.values()].flat()) session.end();
    await old.end();
  }
}

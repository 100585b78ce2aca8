import { threadId } from 'node:worker_threads';
import { Client, types } from 'pg';
import { execute } from '../../../server/test/start-postgres.ts';
import type { Store } from '../../src/inner-server.ts';
import type { Random } from '../kernel/random.ts';
import type { Base, BaseEvents, MakeBase } from './base.ts';
import type { Server } from './load-server.ts';
import { type Connected, Session, Wire, withSession } from './postgres-wire.ts';
import { type Owner, outside, type Scheduler } from './scheduler.ts';
import { PUBLIC_URL } from './world.ts';

/** Where the address of the PostgreSQL that is simulated on stands. */
export const DATABASE = 'SHORTLINK_SIMULATED_DATABASE';

type Postgres = NonNullable<Server['postgres']>;

/** Connections of a process: one reads, the others write. */
const CONNECTIONS = 4;

/** A database with the tables of each variant of the server, which histories are copies of. */
const templates = new Map<Postgres, Promise<string>>();

let databases = 0;

/** A new database on the server that the environment names. */
export async function newPostgresBase(
  postgres: Postgres,
  { shortUrlMaker }: Server,
  random: Random,
): Promise<MakeBase> {
  const template = templates.get(postgres) ?? makeTemplate(postgres);
  templates.set(postgres, template);
  const url = await makeDatabase(await template);
  // What is asked about locks must not wait for one itself.
  const [observer, reader] = [newClient(url), newClient(url)];
  await Promise.all([observer.connect(), reader.connect()]);
  return (events, scheduler) =>
    new PostgresBase({
      ...{ postgres, shortUrlMaker, random, events, scheduler, observer, reader, url },
    });
}

function newClient(connectionString: string): Client {
  const { INT8 } = types.builtins;
  const client = new Client({ connectionString });
  client.setTypeParser(INT8, Number);
  return client;
}

async function makeTemplate(postgres: Postgres): Promise<string> {
  const url = await makeDatabase('template1');
  await postgres.migratePostgres(url);
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
  observer: Client;
  reader: Client;
  url: string;
}

/** A database of a real PostgreSQL, whose connections are lost now and then. */
class PostgresBase implements Base {
  /** A call waits for a connection, or for others of its account, for 3 s at most. */
  readonly hurryMs = 5_000;
  readonly readsFail = true;
  readonly #parts: Parts;
  readonly #wire: Wire;
  readonly #sessions = new Map<Owner, Session[]>();
  /** A connection reads one after the other. */
  #reads: Promise<unknown> = Promise.resolve();

  constructor(parts: Parts) {
    this.#parts = parts;
    const { scheduler, events, random, observer } = parts;
    const isBefore = () => random.chance(0.5);
    const onDeadlock = (text: string) => events.onWrong(`a deadlock ends ${text.slice(0, 80)}`);
    this.#wire = new Wire(observer, scheduler, { ...events, isBefore, onDeadlock });
  }

  async rows<T extends object>(sql: string, ...values: (string | number)[]): Promise<T[]> {
    const { reader, postgres } = this.#parts;
    const { processID } = reader as unknown as Connected;
    const read = () => reader.query<T>(postgres.toPostgres(sql), values);
    const result = this.#reads.then(read);
    this.#reads = result.catch(() => undefined);
    return this.#wire.real(async () => (await result).rows, processID);
  }

  openStore(owner: Owner, mayFail: boolean): Store {
    const { postgres, shortUrlMaker, url, events } = this.#parts;
    const session = new Session(this.#wire, owner, mayFail);
    this.#sessions.set(owner, [...(this.#sessions.get(owner) ?? []), session]);
    const db = withSession(session, () => new postgres.Database({ url, connections: CONNECTIONS }));
    const shortUrl = shortUrlMaker(PUBLIC_URL);
    return postgres.postgresStore({ db, generateCode: events.generateCode, shortUrl });
  }

  async unnumberLinks(): Promise<void> {
    await this.rows(
      'UPDATE links SET target_number = NULL WHERE code IN (SELECT code FROM links FOR UPDATE SKIP LOCKED)',
    );
  }

  forget(owner: Owner): void {
    for (const session of this.#sessions.get(owner) ?? []) session.end();
    this.#sessions.delete(owner);
  }

  async close(): Promise<void> {
    for (const owner of [...this.#sessions.keys()]) this.forget(owner);
    const { observer, reader, url } = this.#parts;
    await outside(() => Promise.all([observer.end(), reader.end()]));
    await execute(process.env[DATABASE] ?? '', `DROP DATABASE ${nameOf(url)} WITH (FORCE)`);
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import {
  type ClientBase,
  type ClientConfig,
  escapeLiteral,
  type PoolClient,
  type QueryResult,
  types,
} from 'pg';
import { recordWrite } from '../links.ts';
import type { Statement } from '../queries/reading.ts';
import type { ClickWrite } from '../store.ts';
import { StoreError } from '../store-error.ts';
import { prepared, toPostgres } from './statement.ts';

const CONNECT_TIMEOUT_MS = 2_000;

/** The server stops a statement after so long. A write may be a batch of 10,000 links; a search of an operator goes through all links. */
const TIMEOUTS_MS = { read: 3_000, write: 5_000, search: 60_000 } as const;

/** The driver gives up a connection that is silent for this much longer than a statement may take: its other end is gone. */
const SILENCE_MS = 1_000;

/** A write waits so long for a locked row: three instances that write to one account over a slow network wait some hundred milliseconds. */
export const LOCK_TIMEOUT_MS = 2_000;

/** The server ends a session whose transaction is idle for so long: a process that is paused or cut off holds up others for at most this time. */
const IDLE_IN_TRANSACTION_TIMEOUT_MS = 5_000;

/** An idle connection is checked after this long, so that routers in between don't forget it. */
const KEEP_ALIVE_MS = 10_000;

export type Use = keyof typeof TIMEOUTS_MS;

/** Settings of a session or transaction that end what takes too long. PgBouncer refuses them where a connection is opened. */
function limitsOf(use: Use): [name: string, ms: number][] {
  return [
    ['statement_timeout', TIMEOUTS_MS[use]],
    ['lock_timeout', LOCK_TIMEOUT_MS],
    ['idle_in_transaction_session_timeout', IDLE_IN_TRANSACTION_TIMEOUT_MS],
  ];
}

export function connectionConfig(url: string, use?: Use): ClientConfig {
  return {
    ...(use && driverLimit(use)),
    connectionString: url,
    application_name: 'shortlink-server',
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
  };
}

export function driverLimit(use: Use): { query_timeout: number } {
  return { query_timeout: TIMEOUTS_MS[use] + SILENCE_MS };
}

const END_TIMEOUT_MS = 2_000;

/** Waits for connections to end, however they do, but not for long: the system gives up one whose other end has vanished after minutes only. */
export async function endSoon(ending: Promise<unknown>): Promise<void> {
  const timeout = delay(END_TIMEOUT_MS, undefined, { ref: false });
  await Promise.race([ending, timeout]).catch(() => undefined);
}

/** How often what failed is tried again, when a wait is reported, and when it is given up, in milliseconds. */
const ASK_MS = 100;
const REPORT_AFTER_MS = 1_000;
export const WAIT_MS = 60_000;

/** How long is waited, from the first failure on. `say` is called once after a second of it. */
export type Patience = { waitMs?: number | undefined; askMs?: number; say?: () => void };

/** Tries again while what failed may pass later. Once it has waited long enough, the error is thrown. */
export async function waitFor<T>(
  attempt: () => Promise<T>,
  mayPassLater: (error: unknown) => boolean,
  { waitMs = WAIT_MS, askMs = ASK_MS, say }: Patience,
): Promise<T> {
  let failedAt: number | undefined;
  for (let isSaid = false; ; ) {
    try {
      return await attempt();
    } catch (error) {
      failedAt ??= performance.now();
      const waitedMs = performance.now() - failedAt;
      if (waitedMs >= waitMs || !mayPassLater(error)) throw error;
      if (waitedMs >= REPORT_AFTER_MS && !isSaid) {
        say?.();
        isSaid = true;
      }
    }
    await delay(askMs);
  }
}

/** A standby, or a primary that is being replaced, can't be written to. */
const WHO_IS_THERE = `SELECT pg_backend_pid() AS pid,
  pg_is_in_recovery() OR current_setting('transaction_read_only')::boolean AS is_read_only`;

/** Statements that wait for the lock of another transaction read what that one wrote, whatever the default of the database is. */
const EACH_STATEMENT = 'ISOLATION LEVEL READ COMMITTED';

/** Makes the statement of {@link Channel.beginWrite}, once for each connection: to plan it costs more than to run it. */
const PREPARE_BEGIN = `PREPARE shortlink_begin (text, bigint, bigint) AS ${toPostgres(recordWrite({ writer: '', number: 0, now: 0 }).text)}`;

const READ_BACK = `SELECT ${limitsOf('read').map(
  ([name]) => `(extract(epoch FROM current_setting('${name}')::interval) * 1000)::int AS ${name}`,
)}`;

/** A connection with its time limits. Behind a pooler they are set in each transaction, which may run in another session of the database. */
export class Channel<C extends ClientBase = PoolClient> {
  readonly client: C;
  readonly isPooled: boolean;
  readonly #use: Use;

  private constructor(client: C, use: Use, pid: number | undefined) {
    this.client = client;
    // The driver gives bigint as text, since JavaScript's numbers end at 2^53. Our times, counts and limits stay far below.
    client.setTypeParser(types.builtins.INT8, Number);
    this.#use = use;
    // A pooler gives its clients process numbers of its own.
    this.isPooled = !('processID' in client) || client.processID !== pid;
  }

  /** @throws StoreError when the time limits don't hold, and to write to a node that only reads, such as the old one after a failover */
  static async open<C extends ClientBase>(client: C, use: Use, name: string): Promise<Channel<C>> {
    const { rows } = await client.query<{ pid: number; is_read_only: boolean }>(WHO_IS_THERE);
    if (use === 'write' && rows[0]?.is_read_only !== false) {
      throw new StoreError('read_only', `The database ${name} can be read, but not written.`);
    }
    const channel = new Channel(client, use, rows[0]?.pid);
    const prepare = use === 'write' ? `; ${PREPARE_BEGIN}` : '';
    const isolation = `SET SESSION CHARACTERISTICS AS TRANSACTION ${EACH_STATEMENT}`;
    if (channel.isPooled) await channel.begin();
    else await client.query(`${isolation}; ${setLimits('SESSION', use)}${prepare}`);
    checkLimits(use, (await client.query(READ_BACK)).rows[0], name);
    if (channel.isPooled) await channel.commit();
    return channel;
  }

  /** Begins a transaction, with limits of its own for another `use`. */
  async begin(mode = EACH_STATEMENT, use = this.#use): Promise<void> {
    const limits = this.isPooled || use !== this.#use ? `; ${setLimits('LOCAL', use)}` : '';
    await this.client.query(`BEGIN ${mode}${limits}`);
  }

  /** Begins a transaction and records its number, in one exchange. `false`: it was committed before, and this one must do nothing. */
  async beginWrite(write: ClickWrite): Promise<boolean> {
    if (this.isPooled) {
      await this.begin();
      return (await this.run(recordWrite(write))).length === 1;
    }
    const { writer, number, now } = write;
    const text = `BEGIN; EXECUTE shortlink_begin(${escapeLiteral(writer)}, ${number}, ${now})`;
    // Several statements in one text have several results, which the driver's types leave out.
    const results = (await this.client.query(text)) as unknown as QueryResult[];
    return results.at(-1)?.rowCount === 1;
  }

  async commit(): Promise<void> {
    await this.client.query('COMMIT');
  }

  async single(statement: Statement): Promise<object[]> {
    if (!this.isPooled) return this.run(statement);
    await this.begin();
    const rows = await this.run(statement);
    await this.commit();
    return rows;
  }

  async run({ text, values }: Statement, options?: { query_timeout: number }): Promise<object[]> {
    const named = prepared(text);
    const query = this.isPooled ? { text: named.text } : named;
    return (await this.client.query<object>({ ...query, ...options, values: [...values] })).rows;
  }
}

function setLimits(scope: 'SESSION' | 'LOCAL', use: Use): string {
  return limitsOf(use)
    .map(([name, ms]) => `SET ${scope} ${name} = ${ms}`)
    .join('; ');
}

/** @throws StoreError when something between us and the database drops what was set: calls would hang where it hangs. */
export function checkLimits(use: Use, found: Record<string, unknown>, database: string): void {
  for (const [name, ms] of limitsOf(use)) {
    if (found[name] === ms) continue;
    const message = `The database ${database} has ${name} = ${found[name]} ms right after it was set to ${ms} ms.`;
    throw new StoreError('unavailable', message);
  }
}

import { setTimeout as delay } from 'node:timers/promises';
import {
  type ClientConfig,
  Pool,
  type PoolClient,
  type QueryResult,
  type QueryResultRow,
} from 'pg';
import { StoreError } from '../store-error.ts';
import { FATE_WAIT_MS, fateOf } from './commit-fate.ts';
import { connectionConfig, databaseName } from './connection.ts';
import { endSoon } from './end-soon.ts';
import { Gate } from './gate.ts';
import { isConflict, isConnectionLost, toStoreError } from './postgres-errors.ts';
import { type Session, type SqlValue, sessionOn } from './session.ts';
import { statementNames } from './statement-names.ts';

/** Connections of one instance. */
const CONNECTIONS = 10;

/** Times a call is run when the connection is lost or others stand in its way, and the wait in between, in milliseconds. */
const TRIES = 4;
const RETRY_MS = 25;

/** A call that has taken this long is not run again: whoever waits for it should hear of the failure. */
const RETRY_WITHIN_MS = 3_000;

/** Begins a transaction and asks for its number, in one exchange: with the number, a lost answer to COMMIT can be asked for. */
const BEGIN = 'BEGIN; SELECT pg_current_xact_id()::text AS xid';

/** A connection that is ours for the time of a call. */
interface Lease {
  client: PoolClient;
  /** Set when it must not be used again. */
  broken: boolean;
}

export interface DatabaseOptions {
  /** `postgres://user:password@host:port/database` */
  url: string;
  /** Connections of the pool. @default 10 */
  connections?: number | undefined;
  /** How long the fate of a commit is asked for, in milliseconds. @default 10_000 */
  fateWaitMs?: number | undefined;
}

/**
 * A pool of connections. What fails is a `StoreError`, and then nothing of the call is stored; except with `outcome_unknown`:
 * the answer to a `COMMIT` was lost, and the database did not come back in time to be asked.
 */
export class Database {
  /** For messages. */
  readonly name: string;
  /** Reads. One that loses its connection is run again. */
  readonly reader: Session;
  readonly #config: ClientConfig;
  readonly #pool: Pool;
  readonly #gate: Gate;
  readonly #fateWaitMs: number;
  readonly #nameOf = statementNames();

  constructor({ url, connections = CONNECTIONS, fateWaitMs = FATE_WAIT_MS }: DatabaseOptions) {
    this.#fateWaitMs = fateWaitMs;
    this.name = databaseName(url);
    this.#config = connectionConfig(url);
    this.#pool = new Pool({ ...this.#config, max: connections });
    this.#gate = new Gate(connections);
    // An idle connection that ends is replaced when it is needed; without a listener the process would end instead.
    this.#pool.on('error', ignore);
    // The pool listens to idle connections only. In use, the statement that runs learns of the loss by itself.
    this.#pool.on('connect', (client) => client.on('error', ignore));
    this.reader = sessionOn(<R extends QueryResultRow>(sql: string, values: readonly SqlValue[]) =>
      this.#attempts(isConnectionLost, ({ client }) => this.#query<R>(client, sql, values)),
    );
  }

  /** Reads that see one moment of the database. */
  snapshot<T>(act: (session: Session) => Promise<T>): Promise<T> {
    return this.#attempts(isConnectionLost, async ({ client }) => {
      await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const value = await act(this.#sessionOn(client));
      await client.query('COMMIT');
      return value;
    });
  }

  /**
   * One statement that writes, and its first row. It is not run again when the connection is lost, since it may have been done: for what may be
   * counted once too often, but not twice.
   */
  once<R extends QueryResultRow>(sql: string, ...values: SqlValue[]): Promise<R | undefined> {
    return this.#attempts(isConflict, ({ client }) =>
      this.#sessionOn(client).get<R>(sql, ...values),
    );
  }

  /**
   * One transaction: all of `act` is stored durably, or nothing. `act` is run again when the database undid it, because of
   * simultaneous writes or a lost connection, so it must have no effect but its statements.
   */
  write<T>(act: (session: Session) => Promise<T>): Promise<T> {
    return this.#attempts(
      (error) => isConflict(error) || isConnectionLost(error),
      async (lease) => {
        const xid = await begin(lease.client);
        const value = await act(this.#sessionOn(lease.client));
        try {
          await lease.client.query('COMMIT');
        } catch (error) {
          if (!isConnectionLost(error)) throw error;
          lease.broken = true;
          const fate = await fateOf(xid, this.#config, this.#fateWaitMs);
          if (fate === 'unknown') throw this.#unknownFate(error);
          if (fate === 'aborted') throw error;
        }
        return value;
      },
    );
  }

  async close(): Promise<void> {
    await endSoon(this.#pool.end());
  }

  #attempts<T>(
    mayRetry: (error: unknown) => boolean,
    act: (lease: Lease) => Promise<T>,
  ): Promise<T> {
    return this.#gate.run(async () => {
      const giveUpAt = performance.now() + RETRY_WITHIN_MS;
      for (let tries = 1; ; tries += 1) {
        const lease: Lease = { client: await this.#connect(), broken: false };
        try {
          const value = await act(lease);
          lease.client.release(lease.broken);
          return value;
        } catch (error) {
          await discard(lease, error);
          const giveUp = tries === TRIES || performance.now() >= giveUpAt;
          if (giveUp || !mayRetry(error)) throw toStoreError(error, this.name);
        }
        await delay(tries * RETRY_MS * (0.5 + Math.random()));
      }
    });
  }

  async #connect(): Promise<PoolClient> {
    try {
      return await this.#pool.connect();
    } catch (error) {
      throw toStoreError(error, this.name);
    }
  }

  #sessionOn(client: PoolClient): Session {
    return sessionOn(<R extends QueryResultRow>(sql: string, values: readonly SqlValue[]) =>
      this.#query<R>(client, sql, values),
    );
  }

  #query<R extends QueryResultRow>(
    client: PoolClient,
    sql: string,
    values: readonly SqlValue[],
  ): Promise<QueryResult<R>> {
    return client.query<R>({ name: this.#nameOf(sql), text: sql, values: [...values] });
  }

  #unknownFate(cause: unknown): StoreError {
    const message = `The database ${this.name} was lost during a commit; whether it was carried out is not known.`;
    return new StoreError('outcome_unknown', message, { cause });
  }
}

async function begin(client: PoolClient): Promise<string> {
  // Several statements in one text have several results, which the driver's types leave out.
  const results: unknown = await client.query(BEGIN);
  const last: unknown = Array.isArray(results) ? results.at(-1) : undefined;
  const xid = last instanceof Object && 'rows' in last && Array.isArray(last.rows) && last.rows[0];
  return String(xid.xid);
}

/** Undoes what was begun, and gives the connection back, or closes it when it is in doubt. */
async function discard({ client, broken }: Lease, error: unknown): Promise<void> {
  if (!broken && !isConnectionLost(error)) {
    try {
      await client.query('ROLLBACK');
      client.release();
      return;
    } catch {
      // Closing ends the transaction as well.
    }
  }
  client.release(true);
}

function ignore(): void {}

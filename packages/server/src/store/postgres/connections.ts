import { setTimeout as delay } from 'node:timers/promises';
import { type ClientConfig, Pool, type PoolClient } from 'pg';
import { endSoon } from './connection.ts';
import { Gate } from './gate.ts';
import { isConnectionLost, toStoreError } from './postgres-errors.ts';

/** Times a call is run when the connection is lost or others stand in its way, and the wait in between, in milliseconds. */
const TRIES = 4;
const RETRY_MS = 25;

/** A call that has taken this long is not run again: its client should learn of the failure. */
const RETRY_WITHIN_MS = 3_000;

export interface ConnectionsOptions {
  config: ClientConfig;
  /** The database for messages. */
  name: string;
  /** Connections at most. Idle ones are closed after 10 s. */
  max: number;
  /** How long a call may wait for one of them, in milliseconds. */
  maxWaitMs: number;
  /** Rejects for a connection that must not be used, when it was just made. @default every connection will do */
  check?: ((client: PoolClient) => Promise<void>) | undefined;
  /** Receives the outcome of each call: `undefined`, or the StoreError that it ended with. */
  onOutcome: (error: unknown) => void;
}

/** A bounded pool of connections, on which calls are run again when the database undid them. */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #pool: Pool;
  readonly #gate: Gate;
  /** The generation that a connection was made in. */
  readonly #madeIn = new WeakMap<PoolClient, number>();
  #generation = 0;

  constructor(options: ConnectionsOptions) {
    const { config, max, maxWaitMs } = options;
    this.#options = options;
    this.#pool = new Pool({ ...config, max });
    this.#gate = new Gate({ places: max, maxWaitMs });
    // An idle connection that ends is replaced when it is needed; without a listener the process would end instead.
    this.#pool.on('error', ignore);
    // The pool listens to idle connections only. In use, the statement that runs learns of the loss by itself.
    this.#pool.on('connect', (client) => client.on('error', ignore));
  }

  /** Replaces every connection that was made until now when it is next needed. */
  renew(): void {
    this.#generation += 1;
  }

  /**
   * Runs `act`, and again where it failed in a way that `mayRetry` accepts.
   *
   * @param onOutcome - Receives the outcome of this call, in place of the one of all calls.
   * @throws StoreError for everything that fails
   */
  async run<T>(
    mayRetry: (error: unknown) => boolean,
    act: (client: PoolClient) => Promise<T>,
    onOutcome = this.#options.onOutcome,
  ): Promise<T> {
    const { name } = this.#options;
    try {
      const value = await this.#gate.run(() => this.#tryAgain(mayRetry, act));
      onOutcome(undefined);
      return value;
    } catch (error) {
      const storeError = toStoreError(error, name);
      onOutcome(storeError);
      throw storeError;
    }
  }

  async close(): Promise<void> {
    await endSoon(this.#pool.end());
  }

  async #tryAgain<T>(
    mayRetry: (error: unknown) => boolean,
    act: (client: PoolClient) => Promise<T>,
  ): Promise<T> {
    const giveUpAt = performance.now() + RETRY_WITHIN_MS;
    for (let tries = 1; ; tries += 1) {
      const client = await this.#connect();
      try {
        const value = await act(client);
        client.release();
        return value;
      } catch (error) {
        await discard(client, error);
        if (tries === TRIES || performance.now() >= giveUpAt || !mayRetry(error)) throw error;
      }
      await delay(tries * RETRY_MS * (0.5 + Math.random()));
    }
  }

  async #connect(): Promise<PoolClient> {
    for (;;) {
      const client = await this.#pool.connect();
      const madeIn = this.#madeIn.get(client);
      if (madeIn === this.#generation) return client;
      if (madeIn === undefined) {
        try {
          await this.#options.check?.(client);
        } catch (error) {
          client.release(true);
          throw error;
        }
        this.#madeIn.set(client, this.#generation);
        return client;
      }
      client.release(true);
    }
  }
}

/** Undoes what was begun, and gives the connection back, or closes it when it is in doubt. */
async function discard(client: PoolClient, error: unknown): Promise<void> {
  if (!isConnectionLost(error)) {
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

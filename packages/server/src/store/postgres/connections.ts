import { setTimeout as delay } from 'node:timers/promises';
import { Pool, type PoolClient } from 'pg';
import { Gate } from '../../gate.ts';
import { StoreError } from '../store-error.ts';
import { Channel, connectionConfig, endSoon, type Use, waitFor } from './connection.ts';
import { isConnectionLost, isRefused, toStoreError } from './postgres-errors.ts';

/** Times a call is run when the connection is lost or others stand in its way, and the wait in between, in milliseconds. */
const TRIES = 4;
const RETRY_MS = 25;

/** A call that has taken this long is not run again: its client should learn of the failure. */
const RETRY_WITHIN_MS = 3_000;

/** How long the database is not asked for more connections once it refused one, and how long it may take to free one, in milliseconds. */
const REFUSED_MS = 1_000;

export interface ConnectionsOptions {
  url: string;
  use: Use;
  name: string;
  /** Connections at most. Idle ones are closed after 10 s. */
  max: number;
  maxWaitMs: number;
  onConnected: () => void;
  /** Receives the outcome of each call: `undefined`, or the StoreError that it ended with. */
  onOutcome: (error: unknown) => void;
  /** Called when the database refuses the first connection: others of this process should end one of theirs. */
  onStarved: () => void;
}

type MayRetry = (error: unknown) => boolean;
type Act<T> = (channel: Channel) => Promise<T>;

export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #pool: Pool;
  readonly #gate: Gate;
  readonly #channels = new WeakMap<PoolClient, { channel: Channel; generation: number }>();
  #generation = 0;
  #granted: number;
  #refusedAt = Number.NEGATIVE_INFINITY;
  /** Whether the next connection that is given back is ended. */
  #mustGive = false;
  #gaveAt = Number.NEGATIVE_INFINITY;

  constructor(options: ConnectionsOptions) {
    const { url, use, max, maxWaitMs } = options;
    this.#options = options;
    this.#granted = max;
    this.#pool = new Pool({ ...connectionConfig(url, use), max });
    // The pool could queue too, but includes that wait in its connect timeout, and connecting must fail fast when the database is down.
    this.#gate = new Gate({
      ...{ slots: max, maxWaitMs },
      busy: (reason) => new StoreError('busy', `All connections are in use. ${reason}`),
    });
    // An idle connection that ends is replaced when it is needed; without a listener the process would end instead.
    this.#pool.on('error', ignore);
    // The pool listens to idle connections only. In use, the statement that runs learns of the loss by itself.
    this.#pool.on('connect', (client) => client.on('error', ignore));
  }

  get counts() {
    const { totalCount, idleCount: idle } = this.#pool;
    return { busy: totalCount - idle, idle, free: this.#options.max - totalCount };
  }

  /** Ends one connection, unless it is the last, so that others of this process can have it. They ask again and again until then. */
  giveOne(): void {
    const left = this.#pool.totalCount - 1;
    const isOnItsWay = this.#mustGive || performance.now() - this.#gaveAt < REFUSED_MS;
    if (left < 1 || isOnItsWay) return;
    this.#grant(left);
    this.#gaveAt = performance.now();
    if (this.#pool.idleCount === 0) this.#mustGive = true;
    else this.#pool.connect().then((client) => client.release(true), ignore);
  }

  /** Replaces every connection that was made until now when it is next needed. */
  renew(): void {
    this.#generation += 1;
  }

  /**
   * Runs a call on a connection. One whose connection is refused waits in line for those that there are, and is no failure.
   *
   * @param onOutcome - Receives the outcome of this call, in place of the one of all calls.
   * @throws StoreError for everything that fails
   */
  async run<T>(mayRetry: MayRetry, act: Act<T>, onOutcome = this.#options.onOutcome): Promise<T> {
    const { name, max, maxWaitMs, onStarved } = this.#options;
    const attempt = () => this.#gate.run(() => this.#tryAgain(mayRetry, act));
    const mayComeLater = (error: unknown) => {
      if (!isRefused(error)) return false;
      if (this.#pool.totalCount === 0) onStarved();
      this.#grant(Math.max(1, this.#pool.totalCount));
      return true;
    };
    try {
      const value = await waitFor(attempt, mayComeLater, { waitMs: maxWaitMs, askMs: RETRY_MS });
      const mayGrow = performance.now() - this.#refusedAt >= REFUSED_MS;
      if (mayGrow && this.#granted < max) this.#grant(this.#granted + 1);
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

  #grant(connections: number): void {
    this.#refusedAt = performance.now();
    this.#granted = connections;
    this.#gate.resize(connections);
  }

  async #tryAgain<T>(mayRetry: MayRetry, act: Act<T>): Promise<T> {
    const giveUpAt = performance.now() + RETRY_WITHIN_MS;
    for (let tries = 1; ; tries += 1) {
      const channel = await this.#connect();
      try {
        const value = await act(channel);
        this.#release(channel);
        return value;
      } catch (error) {
        this.#release(channel, await isUsable(channel, error));
        if (tries === TRIES || performance.now() >= giveUpAt || !mayRetry(error)) throw error;
      }
      await delay(tries * RETRY_MS * (0.5 + Math.random()));
    }
  }

  #release({ client }: Channel, isUsable = true): void {
    const ends = this.#mustGive || !isUsable;
    if (this.#mustGive) this.#gaveAt = performance.now();
    if (ends) this.#mustGive = false;
    client.release(ends);
  }

  async #connect(): Promise<Channel> {
    const { use, name, onConnected } = this.#options;
    for (;;) {
      // One that is opened while all are replaced may lead where those before it did.
      const generation = this.#generation;
      const client = await this.#pool.connect();
      const known = this.#channels.get(client);
      if (known?.generation === this.#generation) return known.channel;
      if (known === undefined) {
        try {
          const channel = await Channel.open(client, use, name);
          onConnected();
          this.#channels.set(client, { channel, generation });
          return channel;
        } catch (error) {
          client.release(true);
          throw error;
        }
      }
      client.release(true);
    }
  }
}

/** Undoes what was begun. `false` for a connection that is in doubt: closing it ends the transaction as well. */
async function isUsable({ client }: Channel, error: unknown): Promise<boolean> {
  if (isConnectionLost(error)) return false;
  return client.query('ROLLBACK').then(
    () => true,
    () => false,
  );
}

function ignore(): void {}

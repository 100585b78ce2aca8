import { newUuid } from '../../domain/ids.ts';
import { databaseName } from '../../setting-values.ts';
import { type Reading, readAsync, type Statement } from '../queries/reading.ts';
import type { ClickWrite } from '../store.ts';
import { StoreError, type StoreErrorReason } from '../store-error.ts';
import { type Channel, driverLimit, type Use, waitFor } from './connection.ts';
import { Connections } from './connections.ts';
import { isConflict, isConnectionLost, isReadOnly } from './postgres-errors.ts';
import { type Run, withoutNul } from './statement.ts';

/** Connections of an instance: two during a rolling deployment of three, and some for commands, fit the 100 that PostgreSQL has by default. */
export const DEFAULT_CONNECTIONS = 15;

/** How long a call may wait for a connection, in milliseconds. */
const WAIT_MS = { read: 2_000, write: 3_000 } as const;

/** How long the outcome of a commit is asked for while the database is away, in milliseconds. */
const OUTCOME_WAIT_MS = 10_000;

/** Writes under one name. Each leaves an old version of its row, which later ones pass over while a snapshot, such as that of `pg_dump`, is open. */
const WRITES_OF_A_WRITER = 2_000;

/** Failures that say that the database as a whole can't be used. */
const OUTAGES: readonly StoreErrorReason[] = ['unavailable', 'read_only', 'full', 'corrupt'];

export interface DatabaseOptions {
  url: string;
  /** Connections at most: a third reads, the others write. At least 2. @default 15 */
  connections?: number | undefined;
  /** @default 2_000 to read, 3_000 to write */
  maxWaitMs?: number | undefined;
  outcomeWaitMs?: number | undefined;
}

/** The connections to a database. After a `StoreError` nothing is stored, except with `outcome_unknown`: the outcome of a `COMMIT` could not be asked. */
export class Database {
  readonly name: string;
  readonly #reads: Connections;
  readonly #writes: Connections;
  /** The last writes of those writers that write nothing at present. Each has one transaction at a time: only the outcome of its last one is known. */
  readonly #idleWriters: ClickWrite[] = [];
  readonly #outcomeWaitMs: number;
  readonly #failing = new Map<'read' | 'write', StoreErrorReason>();
  #wasReadOnly = false;

  constructor(options: DatabaseOptions) {
    const { url, connections = DEFAULT_CONNECTIONS, outcomeWaitMs = OUTCOME_WAIT_MS } = options;
    this.#outcomeWaitMs = outcomeWaitMs;
    this.name = databaseName({ engine: 'postgres', url });
    const open = (use: 'read' | 'write', max: number) =>
      new Connections({
        ...{ url, name: this.name, use, max: Math.max(1, max) },
        maxWaitMs: options.maxWaitMs ?? WAIT_MS[use],
        onOutcome: (error) => this.#learn(use, error),
        onStarved: () => (use === 'read' ? this.#writes : this.#reads).giveOne(),
        onConnected: () => use === 'write' && this.#onWritable(),
      });
    // Reads and writes have their own, so that writes which wait for a lock never keep a redirect waiting.
    const reads = Math.max(1, Math.floor(connections / 3));
    this.#reads = open('read', reads);
    this.#writes = open('write', connections - reads);
  }

  get isHealthy(): boolean {
    return this.#failing.size === 0;
  }

  get connections() {
    const [a, b] = [this.#reads.counts, this.#writes.counts];
    return { busy: a.busy + b.busy, idle: a.idle + b.idle, free: a.free + b.free };
  }

  /** Each statement of a reading by itself. One that loses its connection is run again. */
  read<T>(reading: Reading<T>): Promise<T> {
    return readAsync(reading, this.#runOn(this.#reads));
  }

  /** The same on connections that can write, for what must not come from a node that lags behind. */
  readPrimary<T>(reading: Reading<T>): Promise<T> {
    const run = this.#runOn(this.#writes, (error) => this.#learnOfPrimary(error));
    return readAsync(reading, run);
  }

  /** Reads that see one moment of the database. */
  snapshot<T>(act: (run: Run) => Promise<T>, use: Use = 'read'): Promise<T> {
    return this.#reads.run(isConnectionLost, async (channel) => {
      await channel.begin('ISOLATION LEVEL REPEATABLE READ READ ONLY', use);
      const value = await act(withoutNul((one) => channel.run(one, driverLimit(use))));
      await channel.commit();
      return value;
    });
  }

  /** One statement that writes, and its one row. It is not run again on a lost connection: counters may be wrong by one after that. */
  async writeStatement<Row extends object>(statement: Statement): Promise<Row> {
    const mayRetry = (error: unknown) => isConflict(error) || isReadOnly(error);
    const [row] = await this.#writes.run(mayRetry, (channel) => channel.single(statement));
    // The caller names the columns beside its SQL.
    return row as Row;
  }

  /**
   * One transaction: all of `act` is stored durably, or nothing. It is run again after conflicts and lost connections, so it has no effect but its
   * statements. When the response to a `COMMIT` is lost, the same transaction is begun under the same number, which the database refuses if the
   * first was committed, also on the new primary of a failover.
   */
  async write<T>(act: (run: Run) => Promise<T>): Promise<T> {
    let open: { write: ClickWrite; value: T } | undefined;
    const carryOut = async (channel: Channel): Promise<T> => {
      const before = open;
      const write = before?.write ?? this.#nextWrite();
      if (!(await channel.beginWrite(write)) && before !== undefined) {
        // It has locked the row, so that its end waits for a synchronous standby: a primary that was cut off from its standby shows
        // transactions which that one doesn't have, once their sessions were ended.
        await channel.commit();
        return before.value;
      }
      try {
        const value = await act((statement) => channel.run(statement));
        open = { write, value };
        await channel.commit();
        // The name of a write that may still be open is not used again: its row would have to be waited for.
        if (before === undefined && write.number < WRITES_OF_A_WRITER)
          this.#idleWriters.push(write);
        return value;
      } catch (error) {
        if (!isConnectionLost(error)) open = undefined;
        throw error;
      }
    };
    const mayRetry = (error: unknown) => isConflict(error) || isConnectionLost(error);
    const attempt = () => this.#writes.run(mayRetry, carryOut);
    try {
      return await waitFor(attempt, () => open !== undefined, { waitMs: this.#outcomeWaitMs });
    } catch (cause) {
      if (open === undefined) throw cause;
      const message = `The database ${this.name} was lost during a commit; whether it was carried out is not known.`;
      throw new StoreError('outcome_unknown', message, { cause });
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#reads.close(), this.#writes.close()]);
  }

  #nextWrite(): ClickWrite {
    const { writer, number } = this.#idleWriters.pop() ?? { writer: newUuid(), number: 0 };
    return { writer, number: number + 1, now: Date.now() };
  }

  /** After a failover, once a node that takes writes responds, all connections that read are replaced: they may see old data. */
  #onWritable(): void {
    if (this.#wasReadOnly) this.#reads.renew();
    this.#wasReadOnly = false;
  }

  #learn(kind: 'read' | 'write', error: unknown): void {
    if (error === undefined) this.#failing.delete(kind);
    if (!(error instanceof StoreError) || !OUTAGES.includes(error.reason)) return;
    this.#failing.set(kind, error.reason);
    if (error.reason === 'read_only') this.#wasReadOnly = true;
  }

  /** Learns from a read on a connection that can write. It shows that the database is there, but not that it takes writes. */
  #learnOfPrimary(error: unknown): void {
    const failing = this.#failing.get('write');
    if (failing === undefined || failing === 'unavailable') this.#learn('write', error);
  }

  #runOn(connections: Connections, onOutcome?: (error: unknown) => void): Run {
    return withoutNul((statement) =>
      connections.run(isConnectionLost, (channel) => channel.single(statement), onOutcome),
    );
  }
}

import { OF_ONE_WRITE, StoreError, type StoreErrorReason } from '../store-error.ts';
import { Counters } from './counters.ts';
import { toStoreError } from './database.ts';
import { type OperationName, perform, type SqliteEngine, sqliteEngine } from './engine.ts';

export interface WriteRequest {
  id: number;
  name: OperationName;
  args: unknown[];
}

/** Its reply. Errors are posted as plain data: a class doesn't survive the way between threads. */
export type WriteReply =
  | { id: number; ok: true; value: unknown }
  | { id: number; ok: false; reason: StoreErrorReason; message: string };

/** Kinds of writes, in the order of their transactions: an admission is not durable on its own, and no request waits for background work. */
const KINDS = ['relaxed', 'durable', 'background'] as const;
const KIND_OF: Partial<Record<OperationName, (typeof KINDS)[number]>> = {
  admit: 'relaxed',
  recordKeyUse: 'relaxed',
  importLinks: 'background',
  runJobChunk: 'background',
  pruneSome: 'background',
};

export function isChunkOf(jobId: string, { name, args }: WriteRequest): boolean {
  return name === 'runJobChunk' && args[0] === jobId;
}

/** The one writer of a connection. What arrived together is committed together, and waits once for the disk; what fails takes nothing with it. */
export class WriteCore {
  readonly #engine: SqliteEngine;
  readonly #isInPlace: () => boolean;
  #synchronous: 'FULL' | 'NORMAL' | undefined;
  /** Writes that wait for those that run. */
  #left: readonly WriteRequest[] = [];
  /** Whether the write that runs shares its transaction with others. */
  #isShared = false;

  /** @param isInPlace - Whether the database is still the file of its name. */
  constructor(parts: Parameters<typeof sqliteEngine>[0], isInPlace = () => true) {
    const isIdle = (jobId: string) =>
      !this.#isShared &&
      this.#left.every((request) => isChunkOf(jobId, request)) &&
      parts.isIdle(jobId);
    this.#engine = sqliteEngine({ ...parts, isIdle });
    this.#isInPlace = isInPlace;
  }

  /**
   * Runs writes that arrived together, a transaction for each kind, and replies to a kind before the next: an admission doesn't wait for the disk, nor
   * a create for a job. Of the background only the first is run; what is left is returned. What fails gets its reply too; it never throws.
   */
  run(requests: readonly WriteRequest[], reply: (replies: WriteReply[]) => void): WriteRequest[] {
    let left = [...requests];
    for (const kind of KINDS) {
      const all = left.filter(({ name }) => (KIND_OF[name] ?? 'durable') === kind);
      const group = new Set(kind === 'background' ? all.slice(0, 1) : all);
      left = left.filter((request) => !group.has(request));
      this.#left = left;
      if (group.size > 0) {
        reply(this.#commitTogether([...group], kind === 'relaxed' ? 'NORMAL' : 'FULL'));
      }
    }
    return left;
  }

  /** When a write fails by itself, nothing of its group is kept, and each is tried alone. */
  #commitTogether(requests: readonly WriteRequest[], synchronous: 'FULL' | 'NORMAL'): WriteReply[] {
    const { db } = this.#engine;
    try {
      this.#checkPlace('unavailable');
      this.#setSynchronous(synchronous);
      db.exec('BEGIN IMMEDIATE');
      const replies = this.#perform(requests);
      this.#commit();
      // Checked again: what is acknowledged must be in the file that the next start opens.
      this.#checkPlace('outcome_unknown');
      return replies;
    } catch (error) {
      db.rollback();
      const { reason, message } = toStoreError(error, db.path);
      return requests.length > 1 && OF_ONE_WRITE.includes(reason)
        ? requests.flatMap((request) => this.#commitTogether([request], synchronous))
        : requests.map(({ id }) => ({ id, ok: false, reason, message }));
    }
  }

  #perform(requests: readonly WriteRequest[]): WriteReply[] {
    this.#isShared = requests.length > 1;
    this.#engine.counters = new Counters(this.#engine.db);
    const replies = requests.map(({ id, name, args }): WriteReply => {
      return { id, ok: true, value: perform(this.#engine, name, args) };
    });
    this.#engine.counters.flush();
    return replies;
  }

  #checkPlace(reason: StoreErrorReason): void {
    if (this.#isInPlace()) return;
    const message = `The database ${this.#engine.db.path} was deleted or replaced while it was open.`;
    throw new StoreError(reason, message);
  }

  /** A disk that fails in mid-commit may hold all of it: recovery after a crash would find it and keep it. */
  #commit(): void {
    try {
      this.#engine.db.exec('COMMIT');
    } catch (error) {
      if (!(error instanceof StoreError) || error.reason !== 'unavailable') throw error;
      const message = `The commit failed: ${error.message}`;
      throw new StoreError('outcome_unknown', message, { cause: error });
    }
  }

  /** With a write-ahead log, NORMAL leaves out the wait for the disk at commit, and a later FULL commit makes up for it. */
  #setSynchronous(level: 'FULL' | 'NORMAL'): void {
    if (this.#synchronous === level) return;
    this.#engine.db.exec(`PRAGMA synchronous = ${level}`);
    this.#synchronous = level;
  }
}

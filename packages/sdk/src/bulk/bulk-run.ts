import { startTimer, untilAborted } from '../http/time.ts';
import type { LinkInput as BatchLinkInput } from '../wire/link.ts';
import { followJob, runBatch } from './batch-life.ts';
import type { BatchPlan } from './batch-plan.ts';
import { BatchSizing } from './batch-sizing.ts';
import { BatchQueue, cut, OrderBuffer } from './order.ts';
import { alignResults, outcomeOfResult, type SettledBatch } from './results.ts';
import {
  type Batch,
  type BatchEnd,
  type CreateManyDeps,
  type RunContext,
  rangeOf,
} from './run-context.ts';
import { checkEntries, SourceReader } from './source-reader.ts';
import type { BatchRange, BatchRecord, BulkSource, CreateManyOptions } from './types.ts';

/** How long callbacks are awaited after an abort, in milliseconds, so that a journal can write the outcome of a batch. */
const GRACE_MS = 1_000;

/** What a run works with, every default filled in. */
export interface BulkRunInit<T extends BatchLinkInput> {
  deps: CreateManyDeps;
  options: CreateManyOptions;
  source: BulkSource<T>;
  plan: BatchPlan;
  batchSize: number;
  concurrency: number;
}

/**
 * One run of `createMany`: a loop that starts batches, and a generator that yields their links in order. Both wait on
 * one notifier and look again, so that nothing waits on a promise that may never settle.
 */
export class BulkRun<T extends BatchLinkInput> implements RunContext {
  readonly deps: CreateManyDeps;
  readonly options: CreateManyOptions;
  readonly sizing: BatchSizing;

  readonly #abort = new AbortController();
  readonly #ending = new AbortController();
  readonly #overdue = new AbortController();
  readonly signal = this.#abort.signal;
  readonly ending = this.#ending.signal;
  readonly overdue = this.#overdue.signal;

  readonly #reader: SourceReader<T>;
  readonly #plan: BatchPlan;
  readonly #concurrency: number;

  readonly #changed = new Notifier();
  readonly #settled = new OrderBuffer<SettledBatch<T>>();
  readonly #refused = new BatchQueue<T>();
  #cancelGrace: (() => void) | undefined;
  #inFlight = 0;
  /** Links read and not yet yielded. */
  #held = 0;
  #sourceEnded = false;
  #failure: { reason: unknown } | undefined;

  constructor(init: BulkRunInit<T>) {
    this.deps = init.deps;
    this.options = init.options;
    this.#reader = new SourceReader(init.source);
    this.#plan = init.plan;
    this.sizing = new BatchSizing(init.batchSize);
    this.#concurrency = init.concurrency;
  }

  taken(range: BatchRange, sent: number): void {
    this.sizing.taken(range, sent);
    // Other batches of this size may go out now, while the job of this one runs.
    this.#changed.notify();
  }

  endWith(reason: unknown): void {
    this.#failure ??= { reason };
    this.endSoftly();
  }

  /** Sends no batch that is not under way yet. */
  endSoftly(): void {
    this.#ending.abort();
    this.#changed.notify();
  }

  /** Sends nothing more and aborts what is in flight. */
  abort(reason: unknown): void {
    this.#abort.abort(reason);
    this.#cancelGrace ??= startTimer(GRACE_MS, () => this.#overdue.abort(reason));
    this.endWith(reason);
  }

  /** Yields every settled batch in order, then throws what ended the run, if anything did. */
  async *batches(): AsyncGenerator<SettledBatch<T>, void, undefined> {
    const unfollow = this.#followSignals();
    const started = this.#startBatches();
    let isDrained = false;
    try {
      for (;;) {
        const batch = this.#settled.take();
        if (batch !== undefined) {
          yield batch;
          this.#held -= batch.inputs.length;
          this.#changed.notify();
        } else if (this.#settled.isClosed) {
          break;
        } else {
          await this.#changed.wait();
        }
      }
      isDrained = true;
    } finally {
      if (!isDrained) this.abort(new Error('The loop over createMany was left early'));
      await started;
      unfollow();
      this.#cancelGrace?.();
    }
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  /** Follows the caller's signals. The function that it returns removes the listeners. */
  #followSignals(): () => void {
    const { signal, stopSignal } = this.options;
    const abort = () => this.abort(signal?.reason);
    const stop = () => this.endSoftly();
    if (signal?.aborted) abort();
    if (stopSignal?.aborted) stop();
    signal?.addEventListener('abort', abort);
    stopSignal?.addEventListener('abort', stop);
    return () => {
      signal?.removeEventListener('abort', abort);
      stopSignal?.removeEventListener('abort', stop);
    };
  }

  /** Runs until nothing is left to send and nothing is in flight. Never rejects. */
  async #startBatches(): Promise<void> {
    try {
      while (!this.ending.aborted) {
        const size = this.sizing.next;
        const refused = this.#refused.nextCount(size);
        if (refused > 0 ? this.#maySend(refused) : this.#mayRead()) {
          const batch = this.#refused.take(size);
          if (batch === undefined) await this.#readNext();
          else this.#send(batch);
        } else if (this.#sourceEnded && refused === 0 && this.#inFlight === 0) {
          break;
        } else {
          await this.#changed.wait();
        }
      }
    } catch (error) {
      this.endWith(error);
    }
    while (this.#inFlight > 0) await this.#changed.wait();
    await untilAborted(this.overdue, this.#reader.close()).catch((error) => this.endWith(error));
    this.#settled.isClosed = true;
    this.#changed.notify();
  }

  #maySend(count: number): boolean {
    return this.#inFlight === 0 || (!this.sizing.goesAlone(count) && this.#hasSlot());
  }

  #mayRead(): boolean {
    if (this.#sourceEnded) return false;
    const { count, record } = this.#plan.next(this.sizing.size);
    const isWithinMemory =
      this.#held === 0 || this.#held + count <= this.#concurrency * this.sizing.size;
    const isToSend = record === undefined || record.state === 'planned';
    return isWithinMemory && (isToSend ? this.#maySend(count) : this.#hasSlot());
  }

  #hasSlot = () => this.#inFlight < this.#concurrency;

  async #readNext(): Promise<void> {
    const range = this.#plan.next(this.sizing.size);
    const inputs = await this.#read(range);
    if (inputs === undefined) return;
    this.#plan.advance(range, inputs.length);
    if (inputs.length < range.count) {
      this.#sourceEnded = true;
      this.#plan.end();
    }
    if (inputs.length === 0) return;
    this.#held += inputs.length;
    await this.#begin({ first: range.first, inputs, refused: new Map() }, range.record);
  }

  /**
   * Reads the links of a range. Returns undefined when the run ends before they are there, because a source that hangs must
   * not delay the end, and when the source fails. A source that failed is read no further; what was read before is sent.
   */
  async #read({ first, count }: BatchRange): Promise<T[] | undefined> {
    let inputs: T[] | undefined;
    this.#reader
      .read(count)
      .then((entries) => {
        checkEntries(entries, first);
        inputs = entries;
        this.#changed.notify();
      })
      .catch((error: unknown) => {
        this.#failure ??= { reason: error };
        this.#sourceEnded = true;
        this.#changed.notify();
      });
    const isOpen = () => inputs === undefined && !this.#sourceEnded && !this.ending.aborted;
    while (isOpen()) await this.#changed.wait();
    return this.ending.aborted ? undefined : inputs;
  }

  async #begin(batch: Batch<T>, record: BatchRecord | undefined): Promise<void> {
    if (record === undefined || record.state === 'planned') {
      this.#send(batch);
    } else if (record.state === 'accepted') {
      this.#start(followJob(this, batch, record.job_id), batch);
    } else {
      const recorded = await untilAborted(this.signal, record.results?.() ?? []);
      const results = alignResults(batch.inputs, recorded);
      const missing =
        record.state === 'completed' ? undefined : { outcome: record.state, error: record.error };
      this.#settled.put({
        ...batch,
        outcome: (offset) => outcomeOfResult(results[offset], missing),
      });
      this.#changed.notify();
    }
  }

  #send(batch: Batch<T>): void {
    const { hopeless } = this.sizing;
    if (hopeless === undefined) {
      this.sizing.started();
      this.#start(runBatch(this, batch), batch);
    } else this.endWith(hopeless);
  }

  #start(life: Promise<BatchEnd<T>>, batch: Batch<T>): void {
    this.#inFlight += 1;
    life
      .then((end) => this.#ended(batch, end))
      .catch((error: unknown) => this.endWith(error))
      .finally(() => {
        this.#inFlight -= 1;
        this.#changed.notify();
      });
  }

  #ended(batch: Batch<T>, end: BatchEnd<T>): void {
    switch (end.type) {
      case 'settled':
        this.#settled.put(end.batch);
        break;
      case 'resized':
        this.sizing.resized(end.size);
        this.#refused.put(batch);
        break;
      case 'split':
        this.sizing.split(rangeOf(batch));
        this.#refused.put(...cut(batch, Math.ceil(batch.inputs.length / 2)));
        break;
      case 'filled':
        this.sizing.filled(end.room);
        this.#refused.put(batch);
        break;
      case 'unsent':
        break;
    }
  }
}

/** Wakes those who wait for something to change. Check the condition again after each wait. */
class Notifier {
  #wakes: (() => void)[] = [];

  /** Resolves at the next {@link notify}. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#wakes.push(resolve));
  }

  notify(): void {
    const wakes = this.#wakes;
    this.#wakes = [];
    for (const wake of wakes) wake();
  }
}

import { startTimer, untilAborted } from '../http/time.ts';
import type { LinkInput } from '../wire/link.ts';
import { type BatchEnd, BatchLife } from './batch-life.ts';
import { BatchSizing } from './batch-sizing.ts';
import { type Batch, type BatchPlan, BatchQueue, cut, OrderBuffer } from './order.ts';
import { alignResults, outcomeOfResult, type SettledBatch } from './results.ts';
import { SourceReader } from './source-reader.ts';
import type {
  BatchRange,
  BatchRecord,
  BulkItem,
  BulkSource,
  CreateManyDeps,
  CreateManyOptions,
} from './types.ts';

/** How long callbacks are awaited after an abort, in milliseconds, so that a journal can write the outcome of a batch. */
const GRACE_MS = 1_000;

/** The options of a run, every default filled in. */
export interface RunOptions extends CreateManyOptions {
  batchSize: number;
  concurrency: number;
  maxDelayMs: number;
}

/**
 * One run of `createMany`: a loop that starts batches, and a generator that yields their links in order. Both wait on
 * each change and look again, so that nothing waits on a promise that may never settle.
 */
export class BulkRun<T extends LinkInput> {
  readonly deps: CreateManyDeps;
  readonly options: RunOptions;
  readonly sizing: BatchSizing;

  readonly #abort = new AbortController();
  readonly #ending = new AbortController();
  readonly #overdue = new AbortController();
  /** Aborted when the run ends at once. */
  readonly signal = this.#abort.signal;
  /** Aborted when the run ends in any way: from then on nothing is sent. */
  readonly ending = this.#ending.signal;
  /** Aborted a moment after `signal`: from then on no callback of the caller is awaited. */
  readonly overdue = this.#overdue.signal;

  readonly #reader: SourceReader<T>;
  readonly #plan: BatchPlan;

  #wakes: (() => void)[] = [];
  readonly #settled = new OrderBuffer<SettledBatch<T>>();
  /** Batches that were read, or refused, and wait to be sent. */
  readonly #queue = new BatchQueue<T>();
  #cancelGrace: (() => void) | undefined;
  #inFlight = 0;
  /** Links read and not yet yielded. */
  #held = 0;
  #sourceEnded = false;
  #failure: { reason: unknown } | undefined;

  constructor(deps: CreateManyDeps, source: BulkSource<T>, plan: BatchPlan, options: RunOptions) {
    this.deps = deps;
    this.options = options;
    this.sizing = new BatchSizing(options.batchSize);
    this.#plan = plan;
    this.#reader = new SourceReader(source, options.maxDelayMs, () => this.#notify());
  }

  /** The service took `sent` links of the batch and refused its other entries. */
  taken(range: BatchRange, sent: number): void {
    this.sizing.taken(range, sent);
    // Other batches of this size may go out now, while the job of this one runs.
    this.#notify();
  }

  /** Sends no other batch, and lets the iteration throw `reason` at its end. The first reason wins. */
  endWith(reason: unknown): void {
    this.#failure ??= { reason };
    this.endSoftly();
  }

  /** Sends no batch that is not under way yet. */
  endSoftly(): void {
    this.#ending.abort();
    this.#notify();
  }

  /** Sends nothing more and aborts what is in flight. */
  abort(reason: unknown): void {
    this.#abort.abort(reason);
    this.#cancelGrace ??= startTimer(GRACE_MS, () => this.#overdue.abort(reason));
    this.endWith(reason);
  }

  /** Yields the links of every settled batch in order, then throws what ended the run, if anything did. */
  async *items(): AsyncGenerator<BulkItem<T>, void, undefined> {
    const unfollow = this.#followSignals();
    const scheduled = this.#schedule();
    let isDrained = false;
    try {
      for (;;) {
        const batch = this.#settled.take();
        if (batch !== undefined) {
          const { first, inputs, outcome } = batch;
          // The spread comes first: engines copy it faster so.
          let offset = 0;
          for (const input of inputs) {
            yield { ...outcome(offset), index: first + offset, input };
            offset += 1;
          }
          this.#held -= inputs.length;
          this.#notify();
        } else if (this.#settled.isClosed) {
          break;
        } else {
          await this.#wait();
        }
      }
      isDrained = true;
    } finally {
      if (!isDrained) this.abort(new Error('The loop over createMany was left early'));
      await scheduled;
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
  async #schedule(): Promise<void> {
    try {
      while (!this.ending.aborted) {
        const { isSampling, next } = this.sizing;
        const size = isSampling ? 1 : next;
        const count = this.#queue.nextCount(size);
        if (count > 0 && this.#maySend(count)) {
          const batch = isSampling ? this.#queue.sample() : this.#queue.take(size);
          if (batch !== undefined) this.#send(batch);
        } else if (count === 0 && this.#mayTake()) {
          await this.#takeNext();
        } else if (count === 0 && this.#sourceEnded && this.#inFlight === 0) {
          // All that was read before the source failed has been sent.
          this.#failure ??= this.#reader.failure;
          break;
        } else {
          await this.#wait();
        }
      }
    } catch (error) {
      this.endWith(error);
    }
    while (this.#inFlight > 0) await this.#wait();
    await untilAborted(this.overdue, this.#reader.close()).catch((error) => this.endWith(error));
    this.#settled.isClosed = true;
    this.#notify();
  }

  #maySend(count: number): boolean {
    const isBusy = this.#inFlight >= this.options.concurrency || this.sizing.goesAlone(count);
    return this.#inFlight === 0 || !isBusy;
  }

  /** Whether the next links are there to be taken from the source. Reads them if there is memory for them. */
  #mayTake(): boolean {
    if (this.#sourceEnded) return false;
    const { count, record } = this.#plan.next(this.sizing.size);
    const isWithinMemory =
      this.#held === 0 || this.#held + count <= this.options.concurrency * this.sizing.size;
    const hasSlot = this.#inFlight < this.options.concurrency;
    const maySend = record?.state !== 'planned' || this.#maySend(count);
    return (
      isWithinMemory && hasSlot && maySend && this.#reader.isReady(count, record !== undefined)
    );
  }

  async #takeNext(): Promise<void> {
    const range = this.#plan.next(this.sizing.size);
    const inputs = this.#reader.take(range.count);
    const isWhole = inputs.length === range.count;
    this.#plan.advance(range, inputs.length);
    if (this.#reader.isDrained) {
      this.#sourceEnded = true;
      if (this.#reader.failure === undefined) this.#plan.end();
    }
    // A part of a recorded batch can't be matched with its record.
    if (inputs.length === 0 || (range.record !== undefined && !isWhole)) return;
    this.#held += inputs.length;
    const batch = { first: range.first, inputs, refused: new Map() };
    if (range.record === undefined) this.#queue.put(batch);
    else await this.#resume(batch, range.record);
  }

  async #resume(batch: Batch<T>, record: BatchRecord): Promise<void> {
    if (record.state === 'planned') {
      this.#send(batch);
    } else if (record.state === 'accepted') {
      this.#start(new BatchLife(this, batch).follow(record.job_id), batch);
    } else {
      const recorded = await untilAborted(this.signal, record.results?.() ?? []);
      const results = alignResults(batch.inputs, recorded);
      const missing =
        record.state === 'completed' ? undefined : { outcome: record.state, error: record.error };
      const outcome = (offset: number) => outcomeOfResult(results[offset], missing);
      this.#settled.put({ ...batch, outcome });
      this.#notify();
    }
  }

  #send(batch: Batch<T>): void {
    const hopeless = this.sizing.hopeless(
      this.#sourceEnded ? this.#held : Number.POSITIVE_INFINITY,
    );
    if (hopeless === undefined) {
      this.sizing.started();
      this.#start(new BatchLife(this, batch).send(), batch);
    } else this.endWith(hopeless);
  }

  #start(life: Promise<BatchEnd<T>>, batch: Batch<T>): void {
    this.#inFlight += 1;
    life
      .then((end) => this.#ended(batch, end))
      .catch((error: unknown) => this.endWith(error))
      .finally(() => {
        this.#inFlight -= 1;
        this.#notify();
      });
  }

  #ended(batch: Batch<T>, end: BatchEnd<T>): void {
    switch (end.type) {
      case 'settled':
        this.#settled.put(end.batch);
        break;
      case 'resized':
        this.sizing.resized(end.size);
        this.#queue.put(batch);
        break;
      case 'split':
        this.sizing.split({ first: batch.first, count: batch.inputs.length });
        this.#queue.put(...cut(batch, Math.ceil(batch.inputs.length / 2)));
        break;
      case 'filled':
        this.sizing.filled(end.room);
        this.#queue.put(batch);
        break;
      case 'unsent':
        break;
    }
  }

  /** Resolves when something changes: check the condition again after each wait. */
  #wait(): Promise<void> {
    return new Promise((resolve) => this.#wakes.push(resolve));
  }

  #notify(): void {
    for (const wake of this.#wakes.splice(0)) wake();
  }
}

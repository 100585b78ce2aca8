import { InvalidOptionError } from '../errors/invalid-option-error.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { BatchLinkInput } from '../wire/batch.ts';
import { followJob, runBatch } from './batch-life.ts';
import type { BatchPlan } from './batch-plan.ts';
import { BatchQueue, cut, SizeDoubts } from './batch-queue.ts';
import { OrderBuffer } from './order-buffer.ts';
import { alignResults, outcomeOfResult, type SettledBatch } from './results.ts';
import {
  type Batch,
  type BatchEnd,
  type CreateManyDeps,
  type RunContext,
  rangeOf,
} from './run-context.ts';
import { SourceReader } from './source-reader.ts';
import type { BatchRange, BatchRecord, BulkSource, CreateManyOptions } from './types.ts';

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
 * How many links the service may refuse, one after the other and before it took any, until the run ends: then it refuses
 * what all of them have in common, such as the `domain_id` of the run.
 */
const MOST_REFUSED_LINKS = 1_000;

/** How often in a row a batch may be cut to the room of the plan and refused all the same: others may fill it meanwhile. */
const MOST_FILL_ATTEMPTS = 5;

/**
 * One run of `createMany`: a loop that starts batches, and a generator that yields their links in order. Both wait on
 * one notifier and look again, so that nothing waits on a promise that may never settle.
 */
export class BulkRun<T extends BatchLinkInput> implements RunContext {
  readonly deps: CreateManyDeps;
  readonly options: CreateManyOptions;
  largestTaken = 0;
  isFilling = false;

  readonly #reader: SourceReader<T>;
  readonly #plan: BatchPlan;
  readonly #concurrency: number;
  #batchSize: number;

  readonly #changed = new Notifier();
  readonly #settled = new OrderBuffer<SettledBatch<T>>();
  readonly #refused = new BatchQueue<T>();
  readonly #doubts = new SizeDoubts();
  readonly #abort = new AbortController();
  readonly #ending = new AbortController();
  #inFlight = 0;
  /** Batches up to this size go out side by side: the service took one, perhaps without some of its entries. */
  #knownSize = 0;
  /** Links that fit into the plan, for the next batch only. */
  #room = Number.POSITIVE_INFINITY;
  #fillAttempts = 0;
  #refusedLinks = 0;
  #lastRefusal: ShortlinkError | undefined;
  /** Links read and not yet yielded. */
  #held = 0;
  #sourceEnded = false;
  #failure: { reason: unknown } | undefined;

  constructor(init: BulkRunInit<T>) {
    this.deps = init.deps;
    this.options = init.options;
    this.#reader = new SourceReader(init.source);
    this.#plan = init.plan;
    this.#batchSize = init.batchSize;
    this.#concurrency = init.concurrency;
  }

  get signal(): AbortSignal {
    return this.#abort.signal;
  }

  get ending(): AbortSignal {
    return this.#ending.signal;
  }

  get mayFillAgain(): boolean {
    return this.#fillAttempts < MOST_FILL_ATTEMPTS;
  }

  taken(range: BatchRange, sent: number): void {
    this.largestTaken = Math.max(this.largestTaken, sent);
    this.#knownSize = Math.max(this.#knownSize, range.count);
    this.#fillAttempts = 0;
    this.#settleSize(range, sent === range.count);
    this.#changed.notify();
  }

  notTaken(range: BatchRange, error: ShortlinkError): void {
    this.#refusedLinks += range.count;
    this.#lastRefusal = error;
    this.#settleSize(range, false);
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
    }
    if (this.#failure !== undefined) throw this.#failure.reason;
  }

  /** Obeys the caller's signals until the function it returns is called, which leaves no listener on them. */
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
        const size = Math.min(this.#batchSize, this.#room);
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
    await this.#reader.close().catch((error: unknown) => this.endWith(error));
    this.#settled.close();
    this.#changed.notify();
  }

  /**
   * A batch larger than any that the service has taken goes alone: if its size is refused, only one batch is. So does a batch
   * that fills the plan, since the room is known only once no other batch is in flight.
   */
  #maySend(count: number): boolean {
    if (this.#inFlight === 0) return true;
    return !this.isFilling && count <= this.#knownSize && this.#hasSlot();
  }

  #settleSize(range: BatchRange, isTakenWhole: boolean): void {
    const isSize = this.#doubts.settle(range, isTakenWhole);
    if (isSize) this.#batchSize = Math.min(this.#batchSize, this.largestTaken);
  }

  #mayRead(): boolean {
    if (this.#sourceEnded) return false;
    const { count, record } = this.#plan.next(this.#batchSize);
    const isWithinMemory =
      this.#held === 0 || this.#held + count <= this.#concurrency * this.#batchSize;
    return isWithinMemory && (isSettledBefore(record) ? this.#hasSlot() : this.#maySend(count));
  }

  #hasSlot(): boolean {
    return this.#inFlight < this.#concurrency;
  }

  async #readNext(): Promise<void> {
    const range = this.#plan.next(this.#batchSize);
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
   * Undefined when the run ends first, since a source that hangs must not hold it up, and when the source fails: then it
   * is at its end, and what was read before goes out all the same.
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
    switch (record?.state) {
      case undefined:
      case 'planned':
        this.#send(batch);
        break;
      case 'accepted':
        this.#start(followJob(this, batch, record.job_id), batch);
        break;
      case 'completed': {
        const results = alignResults(batch.inputs, await record.results());
        this.#settle({ ...batch, outcome: (offset) => outcomeOfResult(results[offset]) });
        break;
      }
      case 'failed':
      case 'unknown': {
        const outcome = { outcome: record.state, error: record.error };
        this.#settle({ ...batch, outcome: () => outcome });
        break;
      }
    }
  }

  #settle(batch: SettledBatch<T>): void {
    this.#settled.put(batch);
    this.#changed.notify();
  }

  #send(batch: Batch<T>): void {
    if (this.largestTaken === 0 && this.#refusedLinks >= MOST_REFUSED_LINKS) {
      this.endWith(this.#lastRefusal);
      return;
    }
    this.#room = Number.POSITIVE_INFINITY;
    this.#start(runBatch(this, batch), batch);
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
        this.#batchSize = Math.min(this.#batchSize, end.size);
        this.#refused.put(batch);
        break;
      case 'split': {
        const { count, first } = rangeOf(batch);
        if (count > this.largestTaken) this.#doubts.add({ first, count });
        this.#refused.put(...cut(batch, Math.ceil(count / 2)));
        break;
      }
      case 'filled':
        if (this.isFilling) this.#fillAttempts += 1;
        this.isFilling = true;
        this.#room = end.room;
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

/** @throws InvalidOptionError for an entry of the source that is no object */
function checkEntries(entries: readonly unknown[], first: number): void {
  const wrong = entries.findIndex((entry) => typeof entry !== 'object' || entry === null);
  if (wrong < 0) return;
  const expected = `a link, such as { target_url }, not ${String(entries[wrong])}`;
  throw new InvalidOptionError(`source[${first + wrong}]`, expected);
}

/** Whether an earlier run leaves nothing to send for these links. */
function isSettledBefore(record: BatchRecord | undefined): boolean {
  return record !== undefined && record.state !== 'planned';
}

import * as check from '../check-options.ts';
import { onAbort, startTimer, untilAborted } from '../http/time.ts';
import type { LinkInput } from '../wire/link.ts';
import { BatchLife } from './batch-life.ts';
import { type Batch, BatchPlan, entryOf, rangeOf } from './batch-plan.ts';
import { pickSent } from './batch-request.ts';
import type * as bulk from './create-many.ts';
import { alignResults, itemOf, type MissingOutcome } from './results.ts';
import { SourceReader } from './source-reader.ts';

/** How long callbacks are awaited after an abort, in milliseconds, so that a journal can write an outcome. */
const GRACE_MS = 1_000;

/** A batch whose links have their outcomes; `missing` is that of links whose result says nothing. */
interface Settled<T extends LinkInput> {
  batch: Batch<T>;
  results: readonly bulk.RecordedResult[];
  missing?: MissingOutcome | undefined;
}

/**
 * One run of `createMany`: a loop that starts batches, and a generator that yields their links in order. Both look again
 * after each change, so that nothing waits on a promise that may never settle.
 */
export class BulkRun<T extends LinkInput> {
  readonly deps: bulk.CreateManyDeps;
  readonly options: bulk.RunOptions;
  readonly plan: BatchPlan<T>;
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
  /** The records of an earlier run that lie ahead, the next one last. */
  readonly #records: bulk.BatchRecord[];
  #inFlight = 0;
  /** Links read and not yet yielded. */
  #held = 0;
  #sourceEnded = false;
  /** First links of the batches whose jobs are waited for. */
  readonly #inTurn = new Set<number>();
  /** Batches that settled and are not yielded yet, by the position of their first link. */
  readonly #settled = new Map<number, Settled<T>>();
  /** The run has not begun, or no other batch will settle. */
  #isOver = true;
  /** Why the run ends when its loop is left. */
  readonly #left = new Error('The loop over createMany was left early');
  #wakes: (() => void)[] = [];
  #cancelGrace: (() => void) | undefined;
  #failure: { reason: unknown } | undefined;

  constructor(deps: bulk.CreateManyDeps, source: bulk.BulkSource<T>, options: bulk.RunOptions) {
    this.deps = deps;
    this.options = options;
    this.plan = new BatchPlan(options);
    this.#records = options.resume.toReversed();
    this.#reader = new SourceReader(source, options.maxDelayMs, () => this.notify());
  }

  notify(): void {
    for (const wake of this.#wakes.splice(0)) wake();
  }

  /** Works once no earlier batch does: until that one is done, the end of this one starts no other, and its polls would be wasted. */
  async inTurn<R>({ first }: bulk.BatchRange, work: () => Promise<R>): Promise<R> {
    this.#inTurn.add(first);
    try {
      while (Math.min(...this.#inTurn) < first && !this.signal.aborted) await this.#wait();
      return await work();
    } finally {
      this.#inTurn.delete(first);
      this.notify();
    }
  }

  settle(settled: Settled<T>): void {
    this.#settled.set(rangeOf(settled.batch).first, settled);
    this.notify();
  }

  /** Sends no other batch, and lets the iteration throw the first `reason` at its end. */
  endWith(reason: unknown): void {
    this.#failure ??= { reason };
    this.endSoftly();
  }

  /** Sends no batch that is not under way yet. */
  endSoftly(): void {
    this.#ending.abort();
    this.notify();
  }

  /** Sends nothing more and aborts what is in flight. */
  abort(reason: unknown): void {
    this.#abort.abort(reason);
    this.#cancelGrace ??= startTimer(GRACE_MS, () => this.#overdue.abort(reason));
    this.endWith(reason);
  }

  /** The links of every settled batch in order, then throws what ended the run, if anything did. */
  items(): AsyncGenerator<bulk.BulkItem<T>, void, undefined> {
    const items = this.#items();
    // A generator hears of its end only once it yields, so what it waits for is ended here.
    for (const name of ['return', 'throw'] as const) {
      const end = items[name];
      items[name] = (value: unknown) => {
        if (!this.#isOver) this.abort(this.#left);
        return Reflect.apply(end, items, [value]);
      };
    }
    return items;
  }

  async *#items(): AsyncGenerator<bulk.BulkItem<T>, void, undefined> {
    const { signal, stopSignal } = this.options;
    const unfollow = onAbort(signal, () => this.abort(signal?.reason));
    const unfollowStop = onAbort(stopSignal, () => this.endSoftly());
    const scheduled = this.#schedule();
    let first = 0;
    let isDrained = false;
    try {
      while (!isDrained) {
        const settled = this.#settled.get(first);
        if (settled !== undefined) {
          const { batch, results, missing } = settled;
          // Items are made as they are yielded: a batch may have 10,000.
          let n = 0;
          for (const entry of batch) yield itemOf(entry, results[n++], missing);
          this.#settled.delete(first);
          first += batch.length;
          this.#held -= batch.length;
          this.notify();
        } else if (!this.#isOver) await this.#wait();
        else if (this.#settled.size === 0) isDrained = true;
        // The links between were not sent.
        else first = Math.min(...this.#settled.keys());
      }
    } finally {
      if (!isDrained) this.abort(this.#left);
      await scheduled;
      unfollow();
      unfollowStop();
      this.#cancelGrace?.();
    }
    if (this.#failure && this.#failure.reason !== this.#left) throw this.#failure.reason;
  }

  /** Runs until nothing is left to send and nothing is in flight. Never rejects. */
  async #schedule(): Promise<void> {
    this.#isOver = false;
    try {
      while (!this.ending.aborted) {
        const count = this.plan.nextCount;
        const next = count === 0 ? this.#nextRange() : undefined;
        if (count > 0 && this.#maySend(count)) {
          const batch = this.plan.take();
          if (batch !== undefined) this.#send(batch);
        } else if (next !== undefined) {
          await this.#take(...next);
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
    this.#isOver = true;
    this.notify();
  }

  #maySend(count: number): boolean {
    const isBusy = this.#inFlight >= this.options.concurrency || this.plan.goesAlone(count);
    return this.#inFlight === 0 || !isBusy;
  }

  /** The next links to take: a recorded range with its record, or some before it. Undefined where they are not there yet. */
  #nextRange(): [range: bulk.BatchRange, record?: bulk.BatchRecord | undefined] | undefined {
    if (this.#sourceEnded) return undefined;
    const { concurrency } = this.options;
    const { size } = this.plan;
    const first = this.#reader.taken;
    const next = this.#records.at(-1);
    const record = next?.first === first ? next : undefined;
    const count = record?.count ?? Math.min(size, next ? next.first - first : size);
    const isWithinMemory = this.#held === 0 || this.#held + count <= concurrency * size;
    const maySend = record?.state !== 'planned' || this.#maySend(count);
    const mayTake = isWithinMemory && this.#inFlight < concurrency && maySend;
    const isReady = mayTake && this.#reader.isReady(count, record !== undefined);
    return isReady ? [{ first, count }, record] : undefined;
  }

  /** @throws InvalidOptionError when a record lies beyond the end of the source, which is then another one */
  async #take({ first, count }: bulk.BatchRange, record?: bulk.BatchRecord): Promise<void> {
    const inputs = this.#reader.take(count);
    const isWhole = inputs.length === count;
    if (record !== undefined && isWhole) this.#records.pop();
    if (this.#reader.isDrained) {
      this.#sourceEnded = true;
      const [last] = this.#records;
      if (last !== undefined && this.#reader.failure === undefined) {
        const expected = `of the same source: it has links up to ${last.first + last.count}, but the source ended after ${this.#reader.taken}`;
        check.refuse('resume', expected);
      }
    }
    // A part of a recorded batch can't be matched with its record.
    if (inputs.length === 0 || (record !== undefined && !isWhole)) return;
    this.#held += inputs.length;
    const batch = inputs.map((input, n) => entryOf(input, first + n));
    if (record === undefined) this.plan.put(batch);
    else await this.#resume(batch, record);
  }

  async #resume(batch: Batch<T>, record: bulk.BatchRecord): Promise<void> {
    if (record.state === 'planned') return this.#send(batch);
    for (const entry of batch) {
      try {
        pickSent(entry);
      } catch {
        // It was refused when the batch was sent, too.
      }
    }
    if (record.state === 'accepted') {
      return this.#start(new BatchLife(this, batch).follow(record.job_id));
    }
    const recorded = await untilAborted(this.signal, record.results?.() ?? []);
    const results = alignResults(batch, recorded);
    const missing =
      record.state === 'completed' ? undefined : { outcome: record.state, error: record.error };
    this.settle({ batch, results, missing });
  }

  #send(batch: Batch<T>): void {
    // A source that is read a few links at a time may have no more than these.
    const hopeless = this.plan.hopeless(this.#sourceEnded ? this.#held : this.#reader.taken);
    if (hopeless === undefined) this.#start(new BatchLife(this, batch).send());
    else this.endWith(hopeless);
  }

  #start(life: Promise<void>): void {
    this.#inFlight += 1;
    life
      .catch((error: unknown) => this.endWith(error))
      .finally(() => {
        this.#inFlight -= 1;
        this.notify();
      });
  }

  #wait(): Promise<void> {
    return new Promise((resolve) => this.#wakes.push(resolve));
  }
}

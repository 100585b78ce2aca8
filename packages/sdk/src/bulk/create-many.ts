import { checkAmount, checkCount, checkOneOf } from '../check-options.ts';
import { InvalidOptionError } from '../errors/call-errors.ts';
import { MAX_BATCH_LINKS } from '../wire/limits.ts';
import type { LinkInput as BatchLinkInput } from '../wire/link.ts';
import { BatchPlan } from './batch-plan.ts';
import { BulkRun } from './bulk-run.ts';
import type { SettledBatch } from './results.ts';
import type { CreateManyDeps } from './run-context.ts';
import type { BulkItem, BulkItems, BulkSource, CreateManyOptions } from './types.ts';

/** Batches in flight at once, when the caller gives no number. */
const DEFAULT_CONCURRENCY = 4;

/**
 * Creates a link for every entry of `source`, in batches, and yields the outcome of each, in order. The source is read
 * lazily; nothing happens before the first `next()`.
 *
 * Every yielded item is final, and no link is ever created twice. Entries that the service refuses as invalid are yielded as
 * `failed`, and the run continues. It ends where more batches would fail or be in doubt: at a plan limit, a refused key, a rate
 * limit longer than the client may wait, a service that can't be reached or that refuses the first 1,000 links one by one, a
 * batch with an unknown outcome (see `onUnknown`), an error of the source or of `onBatch`, an aborted `signal`. Then batches in
 * flight are finished and yielded, the error is thrown, and the links that were not yielded were not created.
 *
 * Leaving the loop early aborts what is in flight, reports it to `onBatch` as `unknown`, and closes the source.
 *
 * @throws InvalidOptionError at once, before anything is read or sent
 */
export function createMany<T extends BatchLinkInput>(
  deps: CreateManyDeps,
  source: BulkSource<T>,
  options: CreateManyOptions = {},
): BulkItems<T> {
  const { concurrency = DEFAULT_CONCURRENCY, batchSize = 'auto', resume = [] } = options;
  checkCount('concurrency', concurrency, { least: 1, most: Number.MAX_SAFE_INTEGER });
  if (batchSize !== 'auto') checkCount('batchSize', batchSize, { least: 1, most: MAX_BATCH_LINKS });
  if (!isIterable(source)) throw new InvalidOptionError('source', 'iterable or async iterable');
  checkAmount('jobTimeoutMs', options.jobTimeoutMs ?? 0, 'milliseconds');
  const hasKeys = options.idempotencyKey !== undefined || deps.hasIdempotency;
  const onUnknown = options.onUnknown ?? (hasKeys ? 'continue' : 'stop');
  checkOneOf('onUnknown', onUnknown, ['stop', 'continue']);

  const run = new BulkRun({
    deps,
    options: { ...options, onUnknown },
    source,
    plan: new BatchPlan(resume),
    batchSize: batchSize === 'auto' ? MAX_BATCH_LINKS : batchSize,
    concurrency,
  });
  return new ItemIterator(run.batches());
}

function isIterable(source: unknown): boolean {
  if (typeof source !== 'object' || source === null) return false;
  return Symbol.asyncIterator in source || Symbol.iterator in source;
}

/**
 * Yields the items of batches one by one. An async generator would cost several promises per item; here an item of a settled
 * batch costs one. Calls resolve in order, also those that are made before the earlier ones have resolved.
 */
export class ItemIterator<T extends BatchLinkInput> implements BulkItems<T> {
  readonly #batches: AsyncGenerator<SettledBatch<T>, void, undefined>;
  #batch: SettledBatch<T> | undefined;
  /** Position of the next item in its batch. */
  #offset = 0;
  /** Calls that wait for the next batch, or for a call that does. */
  #waiting = 0;
  #tail: Promise<unknown> = Promise.resolve();

  constructor(batches: AsyncGenerator<SettledBatch<T>, void, undefined>) {
    this.#batches = batches;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<BulkItem<T>, void>> {
    const item = this.nextSettled();
    if (item !== undefined) return Promise.resolve({ done: false, value: item });
    return this.#inOrder(async () => {
      for (;;) {
        const value = this.#takeItem();
        if (value !== undefined) return { done: false, value };
        const { done, value: batch } = await this.#batches.next();
        if (done) return { done, value: undefined };
        this.#batch = batch;
        this.#offset = 0;
      }
    });
  }

  nextSettled(): BulkItem<T> | undefined {
    return this.#waiting === 0 ? this.#takeItem() : undefined;
  }

  return(): Promise<IteratorResult<BulkItem<T>, void>> {
    return this.#inOrder(async () => {
      this.#batch = undefined;
      await this.#batches.return();
      return { done: true, value: undefined };
    });
  }

  throw(error: unknown): Promise<IteratorResult<BulkItem<T>, void>> {
    return this.#inOrder(async () => {
      this.#batch = undefined;
      await this.#batches.throw(error);
      return { done: true, value: undefined };
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #takeItem(): BulkItem<T> | undefined {
    const batch = this.#batch;
    const offset = this.#offset;
    const input = batch?.inputs[offset];
    if (batch === undefined || input === undefined) return undefined;
    this.#offset += 1;
    // The spread comes first: engines copy it faster so.
    return { ...batch.outcome(offset), index: batch.first + offset, input };
  }

  async #inOrder<R>(act: () => Promise<R>): Promise<R> {
    this.#waiting += 1;
    const result = this.#tail.then(act);
    this.#tail = result.catch(() => undefined);
    try {
      return await result;
    } finally {
      this.#waiting -= 1;
    }
  }
}

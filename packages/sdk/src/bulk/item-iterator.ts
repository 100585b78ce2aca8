import type { BatchLinkInput } from '../wire/batch.ts';
import type { SettledBatch } from './results.ts';
import type { BulkItem, BulkItems } from './types.ts';

/**
 * The items of batches, one by one. What an async generator would do, which costs several promises an item: here an item of a
 * batch that is at hand costs one. Calls are answered in order, also those made before the one before them is.
 */
export class ItemIterator<T extends BatchLinkInput> implements BulkItems<T> {
  readonly #batches: AsyncGenerator<SettledBatch<T>, void, undefined>;
  #batch: SettledBatch<T> | undefined;
  /** Place of the next item in its batch. */
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

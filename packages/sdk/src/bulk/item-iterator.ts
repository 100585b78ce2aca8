import type { BatchLinkInput } from '../wire/batch.ts';
import type { SettledBatch } from './item-outcome.ts';
import type { BulkItem } from './types.ts';

/**
 * The items of batches, one by one. What an async generator would do, which costs several promises an item: here an item of a
 * batch that is at hand costs one. Calls are answered in order, also those made before the one before them is.
 */
export class ItemIterator<T extends BatchLinkInput>
  implements AsyncGenerator<BulkItem<T>, void, undefined>
{
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
    const item = this.#waiting === 0 ? this.#takeItem() : undefined;
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
    const { first = 0, inputs, outcome } = this.#batch ?? {};
    const offset = this.#offset;
    const input = inputs?.[offset];
    if (input === undefined || outcome === undefined) return undefined;
    this.#offset += 1;
    return { index: first + offset, input, ...outcome(offset) };
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

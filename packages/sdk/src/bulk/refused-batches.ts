import type { BatchLinkInput } from '../wire/batch.ts';
import type { Batch } from './run-context.ts';

/** Batches refused for their size, waiting to be sent again in smaller ones, in the order of the source. */
export class RefusedBatches<T extends BatchLinkInput> {
  readonly #batches: Batch<T>[] = [];

  put(batch: Batch<T>): void {
    this.#batches.push(batch);
    this.#batches.sort((a, b) => a.first - b.first);
  }

  /** How many links {@link take} would give, 0 where nothing waits. */
  nextCount(batchSize: number): number {
    return Math.min(this.#batches[0]?.inputs.length ?? 0, batchSize);
  }

  /** The next links, no more than `batchSize` of them. */
  take(batchSize: number): Batch<T> | undefined {
    const batch = this.#batches.shift();
    if (batch === undefined || batch.inputs.length <= batchSize) return batch;
    const { first, inputs } = batch;
    this.#batches.unshift({ first: first + batchSize, inputs: inputs.slice(batchSize) });
    return { first, inputs: inputs.slice(0, batchSize) };
  }
}

import type { BatchLinkInput } from '../wire/batch.ts';
import type { Batch } from './run-context.ts';

/** Batches that were refused and are sent again in smaller ones, in the order of the source. */
export class BatchQueue<T extends BatchLinkInput> {
  readonly #batches: Batch<T>[] = [];

  put(...batches: readonly Batch<T>[]): void {
    this.#batches.push(...batches);
    this.#batches.sort((a, b) => a.first - b.first);
  }

  /** How many links {@link take} would return, 0 when nothing waits. */
  nextCount(batchSize: number): number {
    return Math.min(this.#batches[0]?.inputs.length ?? 0, batchSize);
  }

  /** The next links, at most `batchSize` of them. */
  take(batchSize: number): Batch<T> | undefined {
    const batch = this.#batches.shift();
    if (batch === undefined || batch.inputs.length <= batchSize) return batch;
    const [head, rest] = cut(batch, batchSize);
    this.#batches.unshift(rest);
    return head;
  }
}

/** Two parts of a batch, the first of `count` links. */
export function cut<T extends BatchLinkInput>(
  { first, inputs, refused }: Batch<T>,
  count: number,
): [Batch<T>, Batch<T>] {
  return [
    { first, inputs: inputs.slice(0, count), refused },
    { first: first + count, inputs: inputs.slice(count), refused },
  ];
}

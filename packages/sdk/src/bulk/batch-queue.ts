import type { BatchLinkInput } from '../wire/batch.ts';
import type { Batch } from './run-context.ts';
import type { BatchRange } from './types.ts';

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

/** A refused batch that is larger than any the service took: its size may be the reason, or an entry. */
interface Doubt extends BatchRange {
  /** Links of it that no part has been answered for. */
  left: number;
  /** An entry of it was refused, or a part of it has no known outcome: its size need not be the reason. */
  isExplained: boolean;
}

/**
 * Tells a batch size that the service refuses from a bad entry, where the response names neither. The batch is halved in
 * both cases. When all its parts are taken, its size was the reason.
 */
export class SizeDoubts {
  #doubts: Doubt[] = [];

  /** A batch of a size that was never taken was refused without a reason. */
  add({ first, count }: BatchRange): void {
    this.#doubts.push({ first, count, left: count, isExplained: false });
  }

  /** A batch was answered for good: taken whole, or not. Returns whether this shows that a refused size was too large. */
  settle({ first, count }: BatchRange, isTakenWhole: boolean): boolean {
    let isSize = false;
    for (const doubt of this.#doubts) {
      if (first < doubt.first || first >= doubt.first + doubt.count) continue;
      doubt.left -= count;
      doubt.isExplained ||= !isTakenWhole;
      isSize ||= doubt.left <= 0 && !doubt.isExplained;
    }
    this.#doubts = this.#doubts.filter(({ left }) => left > 0);
    return isSize;
  }
}

import type { LinkInput as BatchLinkInput } from '../wire/link.ts';
import type { Batch } from './run-context.ts';

/** Entries of the source, the first one at position `first`. */
interface Placed {
  first: number;
  inputs: { length: number };
}

/** Gives back what was put in any order in the order of `first`, without holes until it is closed. */
export class OrderBuffer<B extends Placed> {
  readonly #waiting = new Map<number, B>();
  #next = 0;
  /** Nothing more will be put: from now on {@link take} passes over what is missing. */
  isClosed = false;

  put(batch: B): void {
    this.#waiting.set(batch.first, batch);
  }

  /** The batch whose turn it is, or undefined when it is not there yet or, once closed, nothing is left. */
  take(): B | undefined {
    if (this.isClosed && !this.#waiting.has(this.#next)) {
      this.#next = Math.min(...this.#waiting.keys());
    }
    const batch = this.#waiting.get(this.#next);
    if (batch === undefined) return undefined;
    this.#waiting.delete(batch.first);
    this.#next = batch.first + batch.inputs.length;
    return batch;
  }
}

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

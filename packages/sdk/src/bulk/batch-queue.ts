import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { LinkInput } from '../wire/link.ts';

/** Links that go out as one request. */
export interface Batch<T extends LinkInput> {
  /** Position of its first link in the source. */
  first: number;
  inputs: readonly T[];
  /** The `target_url` of each link as it was sent last: `toJSON` or a getter may give another one at another time. */
  targets: string[];
  /** Entries that the service refused, by their position in the source. Parts of one batch share it. */
  refused: Map<number, { error: string; cause: ShortlinkError }>;
}

/** Two parts of a batch, the first of `count` links. */
export function cut<T extends LinkInput>(batch: Batch<T>, count: number): [Batch<T>, Batch<T>] {
  const { first, inputs, targets } = batch;
  const part = (from: number, to?: number): Batch<T> => ({
    ...batch,
    first: first + from,
    inputs: inputs.slice(from, to),
    targets: targets.slice(from, to),
  });
  return [part(0, count), part(count)];
}

/** Batches that wait to be sent, in the order of the source. */
export class BatchQueue<T extends LinkInput> {
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

  /** One link from the middle of the largest batch. */
  sample(): Batch<T> | undefined {
    const sizes = this.#batches.map(({ inputs }) => inputs.length);
    const [batch] = this.#batches.splice(sizes.indexOf(Math.max(...sizes)), 1);
    if (batch === undefined) return undefined;
    const [before, from] = cut(batch, Math.floor(batch.inputs.length / 2));
    const [link, after] = cut(from, 1);
    this.put(...[before, after].filter(({ inputs }) => inputs.length > 0));
    return link;
  }
}

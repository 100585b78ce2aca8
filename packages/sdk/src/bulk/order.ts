import { InvalidOptionError } from '../errors/call-errors.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { LinkInput } from '../wire/link.ts';
import type { BatchRange, BatchRecord } from './types.ts';

/** Links that go out as one request. */
export interface Batch<T extends LinkInput> {
  first: number;
  inputs: readonly T[];
  /** Entries that the service refused, by their position in the source. Parts of one batch share it. */
  refused: Map<number, { error: string; cause: ShortlinkError }>;
}

/** The next links to take from the source, and the record of an earlier run about them. */
export interface PlannedRange extends BatchRange {
  record?: BatchRecord | undefined;
}

/** Cuts a source into batches, along the ranges that an earlier run recorded. */
export class BatchPlan {
  readonly #records: readonly BatchRecord[];
  #nextRecord = 0;
  #position = 0;

  /** @throws InvalidOptionError when records overlap or are no ranges */
  constructor(records: Iterable<BatchRecord>) {
    this.#records = [...records].sort((a, b) => a.first - b.first);
    let end = 0;
    for (const { first, count } of this.#records) {
      if (!Number.isInteger(first) || first < 0 || !Number.isInteger(count) || count < 1) {
        const expected = `a list of batches; one has first ${first} and count ${count}`;
        throw new InvalidOptionError('resume', expected);
      }
      if (first < end) {
        throw new InvalidOptionError('resume', `free of overlaps; two batches hold link ${first}`);
      }
      end = first + count;
    }
  }

  /** Where the source must be read next: a recorded range whole, or up to `batchSize` links before the next one. */
  next(batchSize: number): PlannedRange {
    const record = this.#records[this.#nextRecord];
    const first = this.#position;
    if (record === undefined) return { first, count: batchSize };
    if (record.first > first) return { first, count: Math.min(batchSize, record.first - first) };
    return { first, count: record.count, record };
  }

  /** The range was read, and had `count` links. */
  advance(range: PlannedRange, count: number): void {
    this.#position += count;
    if (range.record !== undefined && count === range.count) this.#nextRecord += 1;
  }

  /**
   * The source is at its end.
   *
   * @throws InvalidOptionError when a record lies beyond it: then the source is not the one of the earlier run
   */
  end(): void {
    const record = this.#records[this.#nextRecord];
    if (record === undefined) return;
    throw new InvalidOptionError(
      'resume',
      `of the same source: it has links up to ${record.first + record.count}, but the source ended after ${this.#position}`,
    );
  }
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

/** Two parts of a batch, the first of `count` links. */
export function cut<T extends LinkInput>(
  { first, inputs, refused }: Batch<T>,
  count: number,
): [Batch<T>, Batch<T>] {
  return [
    { first, inputs: inputs.slice(0, count), refused },
    { first: first + count, inputs: inputs.slice(count), refused },
  ];
}

/** Returns batches in the order of the source, in whatever order they were put. Until it is closed, it waits for each. */
export class OrderBuffer<B extends { first: number; inputs: { length: number } }> {
  readonly #waiting = new Map<number, B>();
  #next = 0;
  /** Nothing more will be put: from now on {@link take} passes over what is missing. */
  isClosed = false;

  put(batch: B): void {
    this.#waiting.set(batch.first, batch);
  }

  /** The next batch, or undefined when it is not there yet or, once closed, nothing is left. */
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

import { InvalidOptionError } from '../errors/call-errors.ts';
import type { BatchRange, BatchRecord } from './types.ts';

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
        throw new InvalidOptionError(
          'resume',
          `a list of batches; one has first ${first} and count ${count}`,
        );
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

import type { BatchRange } from '@shortlink/sdk';
import type { StepRecord } from './records.ts';

/** Where a record stands in the journal file, in bytes. */
export interface Place {
  offset: number;
  length: number;
}

/** What the journal knows of a batch. Results stay on disk. */
export type JournalBatch = BatchRange &
  (
    | { state: 'sent'; at: string; key: string | undefined }
    | { state: 'accepted'; job: string }
    | { state: 'completed'; created: number; failed: number; place: Place }
    | { state: 'failed'; error: string }
    | {
        state: 'unknown';
        error: string;
        job: string | undefined;
        /** Of its `sent` record. */
        at: string;
        key: string | undefined;
      }
  );

/** The last state of each batch. */
export class BatchIndex {
  readonly #byFirst = new Map<number, JournalBatch>();
  #sorted: JournalBatch[] | undefined;

  apply(record: StepRecord, place: Place): void {
    this.#sorted = undefined;
    const { first } = record;
    if (record.t === 'released') this.#byFirst.delete(first);
    else this.#byFirst.set(first, this.#toBatch(record, place));
  }

  get(range: BatchRange): JournalBatch | undefined {
    const batch = this.#byFirst.get(range.first);
    return batch?.count === range.count ? batch : undefined;
  }

  /** All batches, in the order of their links. */
  list(): readonly JournalBatch[] {
    this.#sorted ??= [...this.#byFirst.values()].sort((a, b) => a.first - b.first);
    return this.#sorted;
  }

  /** The batch that holds the link. */
  find(link: number): JournalBatch | undefined {
    const batches = this.list();
    let low = 0;
    let high = batches.length - 1;
    while (low <= high) {
      const middle = (low + high) >> 1;
      const batch = batches[middle];
      if (batch === undefined || link < batch.first) high = middle - 1;
      else if (link >= batch.first + batch.count) low = middle + 1;
      else return batch;
    }
    return undefined;
  }

  #toBatch(record: Exclude<StepRecord, { t: 'released' }>, place: Place): JournalBatch {
    const { first, count } = record;
    const before = this.#byFirst.get(first);
    switch (record.t) {
      case 'sent':
        return { first, count, state: 'sent', at: record.at, key: record.key };
      case 'accepted':
        return { first, count, state: 'accepted', job: record.job };
      case 'completed':
        return { first, count, state: 'completed', ...countsOf(record), place };
      case 'failed':
        return { first, count, state: 'failed', error: record.error };
      case 'unknown': {
        const { at, key } = before?.state === 'sent' ? before : { at: '', key: undefined };
        return { first, count, state: 'unknown', error: record.error, job: record.job, at, key };
      }
    }
  }
}

function countsOf(record: Extract<StepRecord, { t: 'completed' }>) {
  if ('codes' in record) return { created: record.codes.length, failed: 0 };
  let created = 0;
  let failed = 0;
  for (const [code, short_url, error] of record.items) {
    if (error) failed += 1;
    else if (code !== null && short_url !== null) created += 1;
  }
  return { created, failed };
}

import type { BulkItem, BulkItems } from '@shortlink/sdk';
import type { GuardedSink } from './guarded-sink.ts';
import { HELD_BACK } from './journal/resume.ts';
import type { JournalFates } from './journal-fates.ts';
import type { LinkSource, RowReceiver } from './link-source.ts';
import type { Outcome } from './outcome.ts';
import { PendingRows } from './pending-rows.ts';
import type { ResultsFormat } from './results.ts';
import type { RowLink } from './row-link.ts';
import type { Row, RowStatus } from './types.ts';

/**
 * Writes one line per row, in the order of the input, as fates become known. A row waits here from the moment its link
 * is handed out; rejected rows stand between, and are written in their place.
 */
export class ResultsWriter implements RowReceiver {
  /** Rows written, and rejected rows read. */
  readonly counts: Record<RowStatus, number> = {
    created: 0,
    rejected: 0,
    failed: 0,
    unknown: 0,
    unsent: 0,
  };
  readonly #sink: GuardedSink;
  readonly #format: ResultsFormat;
  readonly #fates: JournalFates;
  readonly #pending = new PendingRows();

  constructor(sink: GuardedSink, format: ResultsFormat, fates: JournalFates) {
    this.#sink = sink;
    this.#format = format;
    this.#fates = fates;
    sink.write(format.header);
  }

  link(link: RowLink): void {
    this.#pending.addLink(link);
  }

  rejected(row: Row, reason: string): void {
    this.counts.rejected += 1;
    this.#pending.addRejected(this.#format.line(row, { status: 'rejected', error: reason }));
  }

  /** Rejected rows that wait for no link are written at once: a hopeless file is not held back. */
  async settle(): Promise<void> {
    if (this.#pending.size > 0) return;
    for (const text of this.#pending.rejectedBefore(this.#pending.linkCount)) {
      this.#sink.write(text);
      if (this.#sink.full) await this.#sink.drain();
    }
  }

  /** The target URL of a link that waits for its fate. */
  targetAt(index: number): string | undefined {
    return this.#pending.linkAt(index)?.target_url;
  }

  /** Writes all that `createMany` yields. Links that it passes over are as the journal knows them. */
  async writeItems(items: BulkItems): Promise<void> {
    for await (const first of items) {
      for (let item: BulkItem | undefined = first; item; item = items.nextSettled()) {
        if (item.index > this.#pending.nextIndex) await this.#writeUpTo(item.index);
        this.#writeNext(toOutcome(item));
        if (this.#sink.full) await this.#sink.drain();
      }
    }
  }

  /** Writes the rows before the link at `index`, as the journal knows them. */
  async #writeUpTo(index: number): Promise<void> {
    while (this.#pending.nextIndex < index && this.#pending.size > 0) {
      await this.#writeNextFromJournal();
    }
  }

  /** Writes the rows that are left, as the journal knows them. */
  async writeRest(source: LinkSource): Promise<void> {
    for (;;) {
      if (this.#pending.size > 0) await this.#writeNextFromJournal();
      else if ((await source.next()).done) break;
      if (this.#sink.full) await this.#sink.drain();
    }
    await this.settle();
  }

  dispose(): void {
    this.#pending.dispose();
  }

  async #writeNextFromJournal(): Promise<void> {
    const { nextIndex } = this.#pending;
    const target = this.#pending.linkAt(nextIndex)?.target_url ?? '';
    this.#writeNext(await this.#fates.outcome(nextIndex, target));
  }

  /** Writes the first row that is pending, and the rejected ones before it. */
  #writeNext(outcome: Outcome): void {
    for (const text of this.#pending.rejectedBefore(this.#pending.nextIndex))
      this.#sink.write(text);
    const link = this.#pending.take();
    if (link === undefined) return;
    this.counts[outcome.status] += 1;
    this.#sink.write(this.#format.line(link.row, outcome));
  }
}

function toOutcome(item: BulkItem): Outcome {
  if (item.outcome === 'created') {
    return { status: 'created', code: item.code, short_url: item.short_url };
  }
  const status = item.error === HELD_BACK ? 'unsent' : item.outcome;
  return { status, error: item.error };
}

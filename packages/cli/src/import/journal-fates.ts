import type { RecordedResult } from '@shortlink/sdk';
import type { JournalBatch } from './journal/batch-index.ts';
import type { Journal } from './journal/journal.ts';
import { unknownText } from './journal/resume.ts';
import { type Outcome, outcomeOf } from './outcome.ts';

/** Reads what the journal knows of one link after the other; results of one batch are in memory at a time. */
export class JournalFates {
  readonly #journal: Journal;
  #batch: JournalBatch | undefined;
  #results: readonly RecordedResult[] = [];

  constructor(journal: Journal) {
    this.#journal = journal;
  }

  /** `target` is the link's URL: results are the link's own only if they name no other. */
  async outcome(index: number, target: string): Promise<Outcome> {
    const batch = this.#journal.batches.find(index);
    if (batch === undefined) {
      return { status: 'unsent', error: 'the import ended before this row was sent' };
    }
    switch (batch.state) {
      case 'failed':
        return { status: 'failed', error: batch.error };
      case 'completed': {
        if (this.#batch !== batch) {
          this.#results = await this.#journal.results(batch.place);
          this.#batch = batch;
        }
        const result = this.#results[index - batch.first];
        const isOther = result?.target_url !== undefined && result.target_url !== target;
        return outcomeOf(isOther ? undefined : result);
      }
      default:
        return { status: 'unknown', error: unknownText(batch) };
    }
  }
}

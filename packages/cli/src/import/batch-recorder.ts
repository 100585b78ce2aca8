import { randomUUID } from 'node:crypto';
import { type BatchEvent, type BatchRange, JobFailedError, NotFoundError } from '@shortlink/sdk';
import type { ImportDeps } from './deps.ts';
import type { Journal } from './journal/journal.ts';
import { packResults } from './journal/packed-results.ts';
import type { StepRecord } from './journal/records.ts';

export interface BatchRecorderOptions {
  journal: Journal;
  deps: Pick<ImportDeps, 'onEvent'>;
  /** Rows that can be sent. */
  total: number;
  idempotency: boolean;
  wallClock: () => number;
  /** Throws when the input is no longer the file that was checked. Awaited before a batch is sent. */
  checkInput: () => Promise<void>;
  /** The target URL of a link that waits for its fate. */
  targetAt: (index: number) => string | undefined;
  onUnknown: () => void;
}

/** Rows by what became of them, in this run and those before. */
interface FateCounts {
  created: number;
  failed: number;
  unknown: number;
}

/** Follows the life of each batch: writes it to the journal before the next step, and tells whoever watches. */
export class BatchRecorder {
  /** Batches answered. */
  answered = 0;
  readonly #options: BatchRecorderOptions;
  readonly #keys = new Map<number, string>();
  readonly #done: FateCounts = { created: 0, failed: 0, unknown: 0 };
  #sent = 0;

  constructor(options: BatchRecorderOptions) {
    this.#options = options;
    for (const batch of options.journal.batches.list()) {
      if (batch.state === 'completed') {
        this.#done.created += batch.created;
        this.#done.failed += batch.failed;
        this.#done.unknown += batch.count - batch.created - batch.failed;
      } else if (batch.state === 'failed') this.#done.failed += batch.count;
    }
  }

  /** The `Idempotency-Key` of a batch that is being sent: of its own, so that a refused one is no replay later. */
  idempotencyKey(range: BatchRange): string {
    return this.#keys.get(range.first) ?? randomUUID();
  }

  async onBatch(event: BatchEvent): Promise<void> {
    const { onEvent } = this.#options.deps;
    const { first, count } = event;
    switch (event.type) {
      case 'planned':
        await this.#options.checkInput();
        break;
      case 'sent':
        await this.#append(this.#sentRecord({ first, count }));
        this.#sent += 1;
        onEvent({ type: 'batch-sent', first, count, batch: this.#sent });
        break;
      case 'accepted':
        await this.#append({ t: 'accepted', first, count, job: event.job_id });
        onEvent({ type: 'batch-accepted', first, count, jobId: event.job_id });
        break;
      case 'completed':
        await this.#completed({ first, count }, event.results);
        break;
      case 'failed':
        await this.#append({ t: 'failed', first, count, error: event.error.message });
        this.#settled({ failed: count });
        break;
      case 'unknown':
        await this.#unknown(event);
        break;
      case 'resized':
      case 'unsent':
        // An `unsent` batch may never have been sent, and then the journal does not know it.
        if (this.#options.journal.get(event) !== undefined) {
          await this.#append({ t: 'released', first, count, error: event.error.message });
        }
        if (event.type === 'resized') {
          onEvent({ type: 'batch-resized', from: count, reason: event.error.message });
        }
        break;
    }
  }

  #sentRecord(range: BatchRange): StepRecord {
    const { journal, idempotency, wallClock } = this.#options;
    const at = new Date(wallClock()).toISOString();
    if (!idempotency) return { t: 'sent', ...range, at };
    // A batch that is sent again keeps its key, and the time from which the service remembers it.
    const earlier = journal.get(range);
    const known = earlier?.state === 'sent' || earlier?.state === 'unknown' ? earlier : undefined;
    const key = known?.key ?? randomUUID();
    this.#keys.set(range.first, key);
    return { t: 'sent', ...range, at: known?.key === undefined ? at : known.at, key };
  }

  async #completed(
    range: BatchRange,
    results: Extract<BatchEvent, { type: 'completed' }>['results'],
  ): Promise<void> {
    const targetAt = (index: number) => this.#options.targetAt(range.first + index);
    await this.#append({ t: 'completed', ...range, ...packResults(results, targetAt) });
    const known = this.#options.journal.get(range);
    if (known?.state !== 'completed') return;
    const { created, failed } = known;
    this.#settled({ created, failed, unknown: range.count - created - failed });
  }

  async #unknown(event: Extract<BatchEvent, { type: 'unknown' }>): Promise<void> {
    const { first, count, error, job_id } = event;
    if (JobFailedError.isInstance(error)) {
      // The job has ended for good: what it did is all there will ever be to know.
      await this.#completed({ first, count }, error.job.results);
      return;
    }
    const job = NotFoundError.isInstance(error) ? undefined : job_id;
    await this.#append({ t: 'unknown', first, count, error: error.message, job });
    this.#settled({ unknown: count });
    this.#options.onUnknown();
  }

  async #append(record: StepRecord): Promise<void> {
    await this.#options.journal.append(record);
  }

  #settled(added: Partial<FateCounts>): void {
    this.answered += 1;
    this.#done.created += added.created ?? 0;
    this.#done.failed += added.failed ?? 0;
    this.#done.unknown += added.unknown ?? 0;
    const { created, failed, unknown } = this.#done;
    this.#options.deps.onEvent({
      type: 'rows-done',
      done: created + failed + unknown,
      total: this.#options.total,
      created,
      failed,
      unknown,
    });
  }
}

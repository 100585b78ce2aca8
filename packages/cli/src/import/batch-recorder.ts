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
  /** Their rows. */
  answeredRows = 0;
  readonly #options: BatchRecorderOptions;
  /** The key of each batch that is planned, by its first link. */
  readonly #keys = new Map<number, string>();
  readonly #done: FateCounts = { created: 0, failed: 0, unknown: 0 };
  /** Batches that an earlier run may have sent, by their first link. */
  readonly #carriedOver = new Set<number>();
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

  /**
   * The `Idempotency-Key` of a planned batch. A batch that is sent again keeps the key it had; any other gets one of its
   * own, so that a refused one is no replay later.
   */
  idempotencyKey(range: BatchRange): string {
    const key = this.#keys.get(range.first) ?? this.#maybeSent(range)?.key ?? randomUUID();
    this.#keys.set(range.first, key);
    return key;
  }

  /** What an earlier run knew of a batch whose fate it left open. */
  #maybeSent(range: BatchRange) {
    const known = this.#options.journal.get(range);
    return known?.state === 'sent' || known?.state === 'unknown' ? known : undefined;
  }

  async onBatch(event: BatchEvent): Promise<void> {
    const { onEvent } = this.#options.deps;
    const { first, count } = event;
    switch (event.type) {
      case 'planned':
        this.#keys.delete(first);
        if (this.#maybeSent(event) !== undefined) this.#carriedOver.add(first);
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
        // These stand at their links' places, with the links' own target URLs.
        await this.#completed({ first, count }, packResults(event.results));
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
        // An `unsent` batch may never have been sent, and then the journal does not know it. One that an earlier run may
        // have sent stays as that run left it: not being sent now says nothing about then.
        if (this.#options.journal.get(event) !== undefined && !this.#isStillOpen(event)) {
          await this.#append({ t: 'released', first, count, error: event.error.message });
        }
        if (event.type === 'resized') {
          onEvent({ type: 'batch-resized', from: count, reason: event.error.message });
        }
        break;
    }
  }

  #sentRecord(range: BatchRange): StepRecord {
    const { idempotency, wallClock } = this.#options;
    const at = new Date(wallClock()).toISOString();
    if (!idempotency) return { t: 'sent', ...range, at };
    // A batch that is sent again keeps the time from which the service remembers its key.
    const known = this.#maybeSent(range);
    const key = this.idempotencyKey(range);
    return { t: 'sent', ...range, at: known?.key === key ? known.at : at, key };
  }

  async #completed(range: BatchRange, packed: ReturnType<typeof packResults>): Promise<void> {
    await this.#append({ t: 'completed', ...range, ...packed });
    const known = this.#options.journal.get(range);
    if (known?.state !== 'completed') return;
    const { created, failed } = known;
    this.#settled({ created, failed, unknown: range.count - created - failed });
  }

  #isStillOpen({ first, type }: BatchEvent): boolean {
    return type === 'unsent' && this.#carriedOver.has(first);
  }

  async #unknown(event: Extract<BatchEvent, { type: 'unknown' }>): Promise<void> {
    const { first, count, error, job_id } = event;
    if (JobFailedError.isInstance(error)) {
      // The job has ended for good: what it did is all there will ever be to know.
      const targetAt = (index: number) => this.#options.targetAt(first + index);
      await this.#completed({ first, count }, packResults(error.job.results, targetAt));
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
    for (const count of Object.values(added)) this.answeredRows += count;
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

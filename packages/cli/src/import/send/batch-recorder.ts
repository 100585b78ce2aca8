import { createHash } from 'node:crypto';
import {
  ApiError,
  type BatchEvent,
  type BatchRange,
  JobFailedError,
  NotFoundError,
  type RecordedResult,
  type ShortlinkError,
} from '@shortlink/sdk';
import type { Journal } from '../journal/journal.ts';
import {
  alignResults,
  NO_RESPONSE,
  type PackedResults,
  packResults,
  unpackResult,
} from '../journal/packed-results.ts';
import type { ImportDeps } from '../types.ts';
import type { LinkSource } from './link-source.ts';

interface BatchRecorderOptions {
  journal: Journal;
  source: LinkSource;
  deps: Pick<ImportDeps, 'onEvent'>;
  /** Default domain of the requests. */
  domain: string | undefined;
  idempotency: boolean;
  /** What an idempotency key is made from, besides the links of its batch. */
  keySeed: string;
  wallClock: () => number;
  /** Throws when the input is no longer the file that was checked. Awaited before a batch is sent. */
  checkInput: () => Promise<void>;
  onUnknown: () => void;
}

/** A batch of this run, by the positions of its links among the new ones. */
export interface SentBatch extends BatchRange {
  /** Its number in the journal. */
  id: number;
  /** Why its links are unknown; undefined for one whose results are in the journal. */
  unknown: string | undefined;
}

/** Follows the life of each batch: writes it to the journal before the next step, and notifies the user interface. */
export class BatchRecorder {
  /** Batches that were sent and have not been found to be refused, by their first link. */
  readonly batches = new Map<number, SentBatch>();
  readonly #counts = { batches: 0, created: 0, failed: 0, unknown: 0 };
  readonly #options: BatchRecorderOptions;
  readonly #keys = new Map<number, string>();
  /** Where the batches with the same links begin. */
  readonly #firstsByHash = new Map<string, number[]>();
  #sent = 0;

  constructor(options: BatchRecorderOptions) {
    this.#options = options;
  }

  /**
   * The `Idempotency-Key` of a planned batch. It follows from the links, so that a run whose journal and results were lost sends the
   * same requests under the same keys, and the service responds with the links of the lost run. A service keeps no key of a request
   * that it refused. Batches of the same links in one run each have their own.
   */
  idempotencyKey(range: BatchRange): string {
    const known = this.#keys.get(range.first);
    if (known !== undefined) return known;
    const { source, domain = '', keySeed } = this.#options;
    const text = JSON.stringify([keySeed, domain, source.linksOf(range)]);
    const hash = createHash('sha256').update(text).digest('hex');
    const same = this.#firstsByHash.get(hash) ?? [];
    this.#firstsByHash.set(hash, same);
    if (!same.includes(range.first)) same.push(range.first);
    const key = `${hash}-${same.indexOf(range.first)}`;
    this.#keys.set(range.first, key);
    return key;
  }

  /** A batch that was sent and whose outcome could not be recorded, such as on a full disk, is unknown as well. */
  finalCounts(): Readonly<Record<'batches' | 'created' | 'failed' | 'unknown', number>> {
    let { unknown } = this.#counts;
    for (const batch of this.batches.values()) {
      if (batch.unknown === NO_RESPONSE) unknown += batch.count;
    }
    return { ...this.#counts, unknown };
  }

  async onBatch(event: BatchEvent): Promise<void> {
    const { journal, deps } = this.#options;
    const { first, count } = event;
    const batch = this.batches.get(first);
    switch (event.type) {
      case 'planned':
        this.#keys.delete(first);
        // Before anything is awaited: equal batches are numbered in the order of their rows, whichever of them is ready first.
        if (this.#options.idempotency) this.idempotencyKey({ first, count });
        await this.#options.checkInput();
        break;
      case 'sent':
        this.#begin({ first, count });
        break;
      case 'accepted':
        if (batch !== undefined) journal.accepted(batch.id, event.job_id);
        deps.onEvent({ type: 'batch-accepted', first, count, jobId: event.job_id });
        break;
      case 'completed':
        this.#completed(event, packResults(event.results));
        break;
      case 'failed':
        this.#completed(event, failedResults(event.error, count));
        break;
      case 'unknown':
        this.#unknown(event);
        break;
      case 'resized':
      case 'unsent':
        if (batch !== undefined) journal.removed(batch.id);
        this.batches.delete(first);
        if (event.type === 'resized') {
          deps.onEvent({ type: 'batch-resized', from: count, reason: event.error.message });
        }
        break;
    }
  }

  #begin(range: BatchRange): void {
    const { journal, source, domain, idempotency, wallClock, deps } = this.#options;
    const links = source.linksOf(range);
    const id = journal.begin({
      links: JSON.stringify(links.map((link) => link.text(domain))),
      size: range.count,
      sentAt: new Date(wallClock()).toISOString(),
      idempotencyKey: idempotency ? this.idempotencyKey(range) : undefined,
      domain,
      body: idempotency ? JSON.stringify(links) : undefined,
    });
    this.batches.set(range.first, { ...range, id, unknown: NO_RESPONSE });
    this.#sent += 1;
    deps.onEvent({ type: 'batch-sent', ...range, batch: this.#sent });
  }

  #completed({ first, count }: BatchRange, results: PackedResults): void {
    const batch = this.batches.get(first);
    if (batch === undefined) return;
    this.#options.journal.completed(batch.id, results);
    batch.unknown = undefined;
    const counts = { created: 0, failed: 0, unknown: 0 };
    for (let index = 0; index < count; index += 1) {
      counts[unpackResult(results, index).status] += 1;
    }
    this.#settled(counts);
  }

  #unknown(event: Extract<BatchEvent, { type: 'unknown' }>): void {
    const { error, job_id } = event;
    const batch = this.batches.get(event.first);
    if (batch === undefined) return;
    if (JobFailedError.isInstance(error)) {
      // The job has ended, so its results so far are final.
      const targets = this.#options.source.linksOf(event).map((link) => link.target_url);
      this.#completed(event, packResults(alignResults(targets, error.job.results)));
      return;
    }
    const job = NotFoundError.isInstance(error) ? undefined : job_id;
    this.#options.journal.unknown(batch.id, error.message, job);
    batch.unknown = error.message;
    this.#settled({ created: 0, failed: 0, unknown: event.count });
    this.#options.onUnknown();
  }

  #settled(added: Record<'created' | 'failed' | 'unknown', number>): void {
    const counts = this.#counts;
    counts.batches += 1;
    counts.created += added.created;
    counts.failed += added.failed;
    counts.unknown += added.unknown;
    const done = counts.created + counts.failed + counts.unknown;
    this.#options.deps.onEvent({ type: 'rows-done', done });
  }
}

/** A batch that was refused as a whole: each link gets its own reason where the response names one. */
export function failedResults(error: ShortlinkError, count: number): PackedResults {
  const details = (ApiError.isInstance(error) && error.body?.details) || [];
  const reasons = new Map(
    details.map(({ index, field, message }) => [index, `${field}: ${message}`]),
  );
  const results = Array.from(
    { length: count },
    (_, index): RecordedResult => ({ error: reasons.get(index) ?? error.message }),
  );
  return packResults(results);
}

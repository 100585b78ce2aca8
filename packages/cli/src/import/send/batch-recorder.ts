import { createHash } from 'node:crypto';
import {
  type BatchEvent,
  type BatchRange,
  type BatchResultItem,
  JobFailedError,
  NotFoundError,
} from '@shortlink/sdk';
import type { Journal } from '../journal/journal.ts';
import {
  NO_RESPONSE,
  type PackedResults,
  packResults,
  statusOf,
} from '../journal/packed-results.ts';
import type { ImportDeps, ImportSettings } from '../types.ts';
import type { LinkSource } from './link-source.ts';

interface BatchRecorderOptions {
  journal: Journal;
  source: LinkSource;
  settings: ImportSettings;
  deps: Pick<ImportDeps, 'onEvent' | 'wallClock'>;
  /** What an idempotency key is made from, besides the links of its batch. */
  keySeed: string;
  /** Throws when the input is no longer the file that was checked. Awaited before a batch is sent. */
  guard: () => Promise<void>;
  /** Called for each batch of which it may still be found out what it has created. */
  onOpen: () => void;
}

/** A batch of this run, by the positions of its links among the new ones. */
export interface SentBatch extends BatchRange {
  /** Its number in the journal. */
  id: number;
  /** Whether it may still be found out what it has created. */
  isOpen: boolean;
  /** Links that the service has refused, where nothing is known of the others yet. */
  refused: number;
}

/** Follows the life of each batch: writes it to the journal before the next step, and notifies the user interface. */
export class BatchRecorder {
  /** Batches that were sent and have not been found to be refused, by their first link. */
  readonly batches = new Map<number, SentBatch>();
  readonly #counts = { batches: 0, created: 0, failed: 0, unknown: 0 };
  readonly #options: BatchRecorderOptions;
  readonly #keys = new Map<number, string>();
  /** Where the batches with the same links begin; undefined for one of an earlier run or round. */
  readonly #firstsByHash = new Map<string, (number | undefined)[]>();
  /** Keys of requests that may have created links of other rows. */
  readonly #openKeys: ReadonlySet<string | undefined>;
  #sent = 0;

  constructor(options: BatchRecorderOptions) {
    this.#options = options;
    this.#openKeys = new Set(options.journal.openBatches().map((batch) => batch.idempotencyKey));
  }

  /**
   * The `Idempotency-Key` of a planned batch. It follows from the links, so that a run whose journal and results were lost sends the
   * same requests under the same keys, and the service responds with the links of the lost run. A service keeps no key of a request
   * that it refused. Batches of the same links each have their own, those of earlier runs that are still open included.
   */
  idempotencyKey(range: BatchRange): string {
    const known = this.#keys.get(range.first);
    if (known !== undefined) return known;
    const { source, settings, keySeed } = this.#options;
    const domain = settings.defaults.domain_id ?? '';
    const text = JSON.stringify([keySeed, domain, source.linksOf(range)]);
    const hash = createHash('sha256').update(text).digest('hex');
    const same = this.#firstsByHash.get(hash) ?? [];
    this.#firstsByHash.set(hash, same);
    if (!same.includes(range.first)) {
      while (this.#openKeys.has(`${hash}-${same.length}`)) same.push(undefined);
      same.push(range.first);
    }
    const key = `${hash}-${same.indexOf(range.first)}`;
    this.#keys.set(range.first, key);
    return key;
  }

  /** A batch that was sent and whose outcome could not be recorded, such as on a full disk, is unknown as well. */
  finalCounts(): Readonly<Record<'batches' | 'created' | 'failed' | 'unknown', number>> {
    const { batches, created } = this.#counts;
    let { failed } = this.#counts;
    let links = 0;
    for (const { count, refused } of this.batches.values()) {
      links += count;
      failed += refused;
    }
    return { batches, created, failed, unknown: links - created - failed };
  }

  async onBatch(event: BatchEvent): Promise<void> {
    const { journal, deps } = this.#options;
    const { first, count } = event;
    const batch = this.batches.get(first);
    switch (event.type) {
      case 'planned':
        this.#keys.delete(first);
        // Before anything is awaited: equal batches are numbered in the order of their rows, whichever of them is ready first.
        if (this.#options.settings.idempotency) this.idempotencyKey({ first, count });
        await this.#options.guard();
        break;
      case 'sent':
        this.#begin({ first, count });
        break;
      case 'reduced':
        // What is sent next, if its response is lost, was sent without these links.
        if (batch !== undefined) this.#reduced(batch, event.results);
        break;
      case 'accepted':
        if (batch !== undefined) journal.accepted(batch.id, event.job_id);
        deps.onEvent({ type: 'batch-accepted', first, count, jobId: event.job_id });
        break;
      case 'completed':
        // Links that were refused in a larger batch are not sent again: a batch of nothing else ends without a request.
        this.#settled(batch ?? this.#record({ first, count }, packResults(event.results)), event);
        break;
      case 'failed':
      case 'unknown':
        if (batch !== undefined) this.#settled(batch, event);
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
    this.#record(range);
    this.#sent += 1;
    this.#options.deps.onEvent({ type: 'batch-sent', ...range, batch: this.#sent });
  }

  #record(range: BatchRange, results?: PackedResults): SentBatch {
    const { journal, source, settings, deps } = this.#options;
    const { idempotency } = settings;
    const domain = settings.defaults.domain_id;
    const links = source.linksOf(range);
    const id = journal.begin({
      links: JSON.stringify(links.map((link) => link.text(domain))),
      size: range.count,
      sentAt: new Date(deps.wallClock()).toISOString(),
      idempotencyKey: idempotency ? this.idempotencyKey(range) : undefined,
      domain,
      body: idempotency ? JSON.stringify(links) : undefined,
      results,
    });
    const batch = { ...range, id, isOpen: true, refused: 0 };
    this.batches.set(range.first, batch);
    return batch;
  }

  #reduced(batch: SentBatch, results: readonly BatchResultItem[]): void {
    const known = packResults(results, NO_RESPONSE);
    this.#options.journal.unknown(batch.id, known);
    batch.refused = results.filter((_, index) => statusOf(known, index) === 'failed').length;
  }

  #settled(batch: SentBatch, event: SettledEvent): void {
    const { journal, deps, onOpen } = this.#options;
    const { isFinal, results, job } = outcomeOf(event);
    if (isFinal) journal.completed(batch.id, results);
    else journal.unknown(batch.id, results, job);
    batch.isOpen = !isFinal;
    batch.refused = 0;
    const counts = this.#counts;
    for (let index = 0; index < batch.count; index += 1) {
      counts[statusOf(results, index)] += 1;
    }
    counts.batches += 1;
    deps.onEvent({ type: 'rows-done', done: counts.created + counts.failed + counts.unknown });
    if (!isFinal) onOpen();
  }
}

/** An event after which the run that sent a batch learns nothing more about it. */
export type SettledEvent = Extract<BatchEvent, { type: 'completed' | 'failed' | 'unknown' }>;

interface BatchOutcome {
  results: PackedResults;
  /** Whether links without a result will never get one. */
  isFinal: boolean;
  /** The job that a later run can poll. */
  job?: string | undefined;
}

export function outcomeOf(event: SettledEvent): BatchOutcome {
  switch (event.type) {
    case 'completed':
      return { isFinal: true, results: packResults(event.results) };
    case 'failed': {
      const { message } = event.error;
      const results = event.results.map(({ error }) => ({ error: error || message }));
      return { isFinal: true, results: packResults(results) };
    }
    case 'unknown': {
      const { error, job_id } = event;
      return {
        // A job that has ended creates nothing more.
        isFinal: JobFailedError.isInstance(error),
        results: packResults(event.results, error.message),
        // The service has deleted a job that is not found, or it belongs to another key's account.
        job: NotFoundError.isInstance(error) ? undefined : job_id,
      };
    }
  }
}

import { randomUUID } from 'node:crypto';
import {
  type BatchEvent,
  type BatchRange,
  type BatchResultItem,
  JobFailedError,
  NotFoundError,
  type RecordedResult,
} from '@shortlink/sdk';
import type { Decision, LinkRange } from '../journal/batches.ts';
import type { Journal } from '../journal/journal.ts';
import { type ImportDeps, type ImportSettings, type LinkResult, NO_RESPONSE } from '../types.ts';
import type { LinkSource } from './link-source.ts';

interface BatchRecorderOptions {
  journal: Journal;
  source: LinkSource;
  settings: ImportSettings;
  deps: Pick<ImportDeps, 'onEvent' | 'wallClock'>;
  /** Whether requests have an `Idempotency-Key`. */
  idempotency: boolean;
  /** Throws when the input is no longer the file that was checked. Awaited before a batch is sent. */
  guard: () => Promise<void>;
}

/** A batch of this run, by the positions of its links among the new ones. */
export interface SentBatch extends BatchRange, LinkRange {
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
  /** Why it is not known what batches have created. */
  readonly #unknown = new Set<unknown>();
  #sent = 0;

  constructor(options: BatchRecorderOptions) {
    this.#options = options;
  }

  /** The `Idempotency-Key` of a planned batch: a random one, which the journal keeps, so that another run can send the same request. */
  idempotencyKey({ first }: BatchRange): string {
    const known = this.#keys.get(first) ?? randomUUID();
    this.#keys.set(first, known);
    return known;
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

  /** Whether an error is that of a batch whose outcome is unknown. */
  isUnknown(error: unknown): boolean {
    return this.#unknown.has(error);
  }

  async onBatch(event: BatchEvent): Promise<void> {
    const { journal, deps } = this.#options;
    if (event.type === 'unknown') this.#unknown.add(event.error);
    const { first, count } = event;
    const batch = this.batches.get(first);
    switch (event.type) {
      case 'planned':
        this.#keys.delete(first);
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
        if (batch === undefined) this.#record({ first, count }, decisionOf(event));
        else this.#settled(batch, event);
        break;
      case 'failed':
      case 'unknown':
        if (batch !== undefined) this.#settled(batch, event);
        break;
      case 'resized':
      case 'unsent':
        if (batch !== undefined) journal.release(batch);
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

  #record(range: BatchRange, decision?: Decision): void {
    const { journal, source, settings, deps, idempotency } = this.#options;
    const domain = settings.defaults.domain_id;
    const links = source.linksOf(range);
    const request = {
      links: links.map((link) => link.identity(domain)),
      sentAt: new Date(deps.wallClock()).toISOString(),
      idempotencyKey: idempotency ? this.idempotencyKey(range) : undefined,
      domain,
      body: idempotency ? JSON.stringify(links) : undefined,
    };
    const begun = journal.begin(request, decision);
    const isOpen = decision === undefined;
    this.batches.set(range.first, { ...range, ...begun, isOpen, refused: 0 });
    if (decision !== undefined) this.#count(decision);
  }

  #reduced(batch: SentBatch, items: readonly BatchResultItem[]): void {
    const results = resultsOf(items, NO_RESPONSE);
    this.#options.journal.decide(batch, { results, isFinal: false });
    batch.refused = results.filter(({ status }) => status === 'failed').length;
  }

  #settled(batch: SentBatch, event: SettledEvent): void {
    const decision = decisionOf(event);
    this.#options.journal.decide(batch, decision);
    batch.isOpen = !decision.isFinal;
    batch.refused = 0;
    this.#count(decision);
  }

  #count({ results }: Decision): void {
    const counts = this.#counts;
    for (const { status } of results) counts[status] += 1;
    counts.batches += 1;
    const done = counts.created + counts.failed + counts.unknown;
    this.#options.deps.onEvent({ type: 'rows-done', done });
  }
}

/** An event after which the run that sent a batch learns nothing more about it. */
export type SettledEvent = Extract<BatchEvent, { type: 'completed' | 'failed' | 'unknown' }>;

export function decisionOf(event: SettledEvent): Decision {
  switch (event.type) {
    case 'completed':
      return { isFinal: true, results: resultsOf(event.results) };
    case 'failed': {
      const { message } = event.error;
      const results = event.results.map(({ error }) => ({ error: error || message }));
      return { isFinal: true, results: resultsOf(results) };
    }
    case 'unknown': {
      const { error, job_id } = event;
      return {
        // A job that has ended creates nothing more.
        isFinal: JobFailedError.isInstance(error),
        results: resultsOf(event.results, error.message),
        // The service has deleted a job that is not found, or it belongs to another key's account.
        job: NotFoundError.isInstance(error) ? undefined : job_id,
        error: error.message,
      };
    }
  }
}

const NO_RESULT = 'the response of the service does not hold this link';

/** @param missing - why a link without a code and an error is unknown */
export function resultsOf(items: readonly RecordedResult[], missing = NO_RESULT): LinkResult[] {
  return items.map(({ code, short_url, error }) => {
    // A link that has its code exists, whatever else the service says about it.
    if (code && short_url) return { status: 'created', code, short_url };
    return error ? { status: 'failed', error } : { status: 'unknown', error: missing };
  });
}

import { randomUUID } from 'node:crypto';
import {
  ApiError,
  type BatchEvent,
  type BatchRange,
  JobFailedError,
  NotFoundError,
  type RecordedResult,
  ResponseShapeError,
} from '@shortlink/sdk';
import type { Batch, Decision, SentAt } from '../journal/batches.ts';
import type { Journal } from '../journal/journal.ts';
import { type ImportDeps, type LinkResult, NO_RESPONSE } from '../types.ts';
import type { LinkSource } from './link-source.ts';
import type { SendInput, SendResult } from './send-rows.ts';

/** A batch of this run: its number in the journal, and the positions of its links among the new ones. */
export type SentBatch = BatchRange & Pick<Batch, 'id'>;

/** Writes each step of a batch to the journal before the next one, and notifies the user interface. */
export class BatchRecorder {
  /** Batches that were sent and not refused as a whole, by their first link. */
  readonly batches = new Map<number, SentBatch>();
  readonly #links: LinkSource;
  readonly #send: SendInput;
  readonly #keys = new Map<number, string>();
  /** Errors after which the outcome of a batch is unknown. */
  readonly #unknown = new Set<unknown>();
  #refusal: SendResult['failure'];
  #settled = 0;
  #rowsDone = 0;

  constructor(links: LinkSource, send: SendInput) {
    this.#links = links;
    this.#send = send;
  }

  /** The `Idempotency-Key` of a planned batch. The journal keeps it, so that another run can send the same request. */
  idempotencyKey({ first }: BatchRange): string {
    const known = this.#keys.get(first) ?? randomUUID();
    this.#keys.set(first, known);
    return known;
  }

  /** What the journal knows of the links that were sent. Where an outcome could not be recorded, it is unknown. */
  finalCounts(): Readonly<Record<'batches' | 'created' | 'failed' | 'unknown', number>> {
    const counts = { batches: this.#settled, created: 0, failed: 0, unknown: 0 };
    for (const { id, count } of this.batches.values()) {
      const { created, unanswered } = this.#send.journal.batch(id);
      counts.created += created;
      counts.unknown += unanswered;
      counts.failed += count - created - unanswered;
    }
    return counts;
  }

  /** What the user is told to have ended the sending with this error. An unknown outcome is only counted, unless a batch was refused as well. */
  failureOf(error: unknown): SendResult['failure'] {
    return this.#unknown.has(error) ? this.#refusal : { error };
  }

  async onBatch(event: BatchEvent): Promise<void> {
    const { journal, deps, source } = this.#send;
    const { first, count } = event;
    const batch = this.batches.get(first);
    if (event.type === 'unknown') this.#unknown.add(event.error);
    if (event.type === 'unsent' && ApiError.isInstance(event.error)) this.#refusal ??= event;
    if (event.type === 'planned') {
      this.#keys.delete(first);
      await source.guard();
    } else if (event.type === 'sent' && batch === undefined) {
      this.#begin({ first, count });
      deps.onEvent({ type: 'batch-sent', first, count });
    } else if (batch !== undefined) recordEvent(journal, batch, event, deps);
    // Links that were refused in a larger batch end without a request.
    else if (event.type === 'completed') this.#begin({ first, count }, decisionOf(event));
    if (event.type === 'accepted') {
      deps.onEvent({ type: 'batch-accepted', first, count, jobId: event.job_id });
    } else if (event.type === 'resized' || event.type === 'unsent') this.batches.delete(first);
    else if (isSettled(event) && this.batches.has(first)) {
      this.#settled += 1;
      this.#rowsDone += count;
      deps.onEvent({ type: 'rows-done', done: this.#rowsDone });
    }
    if (event.type === 'resized') {
      deps.onEvent({ type: 'batch-resized', from: count, reason: event.error.message });
    }
  }

  #begin(range: BatchRange, decision?: Decision): void {
    const { journal, settings, deps, idempotency } = this.#send;
    const domain = settings.defaults.domain_id;
    const links = this.#links.linksOf(range);
    const request = {
      links: links.map((link) => (idempotency ? link.toJSON() : link.stored(domain))),
      ...sentNow(deps),
      idempotencyKey: idempotency ? this.idempotencyKey(range) : undefined,
      domain,
    };
    this.batches.set(range.first, { ...range, id: journal.begin(request, decision).id });
  }
}

/** An event after which a run learns nothing more about its batch. */
export type SettledEvent = Extract<BatchEvent, { type: 'completed' | 'failed' | 'unknown' }>;

function isSettled(event: BatchEvent): event is SettledEvent {
  return event.type === 'completed' || event.type === 'failed' || event.type === 'unknown';
}

/** `ids` are the numbers of the links, where they are not all of the batch. */
export function recordEvent(
  journal: Journal,
  batch: Pick<Batch, 'id'>,
  event: BatchEvent,
  deps: ImportDeps,
  ids?: readonly number[],
): void {
  if (event.type === 'sent' || event.type === 'reduced')
    journal.note(batch.id, 'again', sentNow(deps));
  if (event.type === 'accepted') journal.note(batch.id, 'accepted', { job: event.job_id });
  else if (event.type === 'resized' || event.type === 'unsent') journal.release(batch);
  // What is sent next, if its response is lost, was sent without these links.
  else if (event.type === 'reduced') {
    journal.decide(batch, { results: resultsOf(event.results, NO_RESPONSE), ids, isFinal: false });
  } else if (isSettled(event)) journal.decide(batch, { ...decisionOf(event), ids });
}

function sentNow({ wallClock, uptime }: ImportDeps): SentAt {
  return { sentAt: new Date(wallClock()).toISOString(), uptimeMs: Math.round(uptime()) };
}

export function decisionOf(event: SettledEvent): Decision {
  if (event.type === 'completed') return { isFinal: true, results: resultsOf(event.results) };
  const { message } = event.error;
  if (event.type === 'failed') {
    const results = event.results.map(({ error }) => ({ error: error || message }));
    return { isFinal: true, results: resultsOf(results) };
  }
  return {
    // Nothing is on its way once a job has ended, or a whole response lacks results.
    isFinal:
      JobFailedError.isInstance(event.error) ||
      (ResponseShapeError.isInstance(event.error) && event.error.path === 'results'),
    results: resultsOf(event.results, message),
    // A job that is not found was deleted, or belongs to another key's account.
    [NotFoundError.isInstance(event.error) ? 'lostJob' : 'job']: event.job_id,
    error: message,
  };
}

const NO_RESULT = 'the response of the service does not hold this link';

/** @param missing - why a link without a code and an error is unknown */
function resultsOf(items: readonly RecordedResult[], missing = NO_RESULT): LinkResult[] {
  return items.map(({ code, short_url, error }) => {
    // A link that has its code exists, whatever else the service says about it.
    if (code && short_url) return { status: 'created', code, short_url };
    return error ? { status: 'failed', error } : { status: 'unknown', error: missing };
  });
}

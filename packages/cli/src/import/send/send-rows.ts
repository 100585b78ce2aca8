import { readRows } from '@shortlink/tables';
import type { Row } from '@shortlink/tables/basics';
import type { Ask } from '../check/ask-service.ts';
import type { ImportSource } from '../check/check-input.ts';
import { BatchRecorder, type SentBatch } from './batch-recorder.ts';
import { LinkSource } from './link-source.ts';

export interface SendInput extends Omit<Ask, 'evidence'> {
  source: ImportSource;
  /** Rows to leave out: they can't be sent, or their links exist. */
  skips: (row: Row, number: number) => boolean;
  /** Links to send at most, and the size of a batch. */
  links: number;
  batchSize: number;
  /** Whether requests have an `Idempotency-Key`. */
  idempotency: boolean;
}

export interface SendResult {
  counts: ReturnType<BatchRecorder['finalCounts']>;
  /** The batches that were sent, in the order of the rows. */
  batches: SentBatch[];
  /** What ended the sending early; undefined where nothing did, or the user. */
  failure: { error: unknown } | undefined;
}

export async function sendRows(send: SendInput): Promise<SendResult> {
  const { source, settings, deps, idempotency } = send;
  const { onUnknown, concurrency, defaults } = settings;
  const links = new LinkSource(readRows(source.input, source.layout), source.rules, send);
  const recorder = new BatchRecorder(links, send);
  let failure: SendResult['failure'];
  try {
    send.journal.keepRoom(Math.min(send.links, concurrency * send.batchSize));
    const items = deps.client.links.createMany(links, {
      domain_id: defaults.domain_id,
      batchSize: send.batchSize,
      // Full batches cost the fewest requests.
      maxDelayMs: Number.POSITIVE_INFINITY,
      concurrency,
      // With its key a batch can be sent again without harm.
      onUnknown: onUnknown === 'stop' && !idempotency ? 'stop' : 'continue',
      signal: deps.signal,
      stopSignal: deps.stopSignal,
      onBatch: (event) => recorder.onBatch(event),
      onJobProgress: (_, { id, processed, total }) =>
        deps.onEvent({ type: 'job-progress', jobId: id, processed, total }),
      ...(idempotency && { idempotencyKey: (range) => recorder.idempotencyKey(range) }),
    });
    for await (const { index } of items) links.forget(index + 1);
  } catch (error) {
    failure = recorder.failureOf(error);
  } finally {
    await links.return();
  }
  // Where the journal can't be written any more, requests in flight are given up.
  return {
    counts: recorder.finalCounts(),
    batches: [...recorder.batches.values()].sort((a, b) => a.first - b.first),
    failure: deps.signal.aborted ? undefined : failure,
  };
}

import { ConnectionError } from '../errors/call-errors.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { BatchAnswer, BatchLinkInput } from '../wire/batch.ts';
import { BatchPost } from './batch-post.ts';
import { smallerBatchSize } from './batch-size.ts';
import { completed, followJob } from './follow-job.ts';
import { outcomeOfRefusal } from './item-outcome.ts';
import { refusalFate } from './refusal-fate.ts';
import {
  asShortlinkError,
  type Batch,
  type BatchEnd,
  emit,
  type RunContext,
  rangeOf,
  requestOptions,
  settledEnd,
} from './run-context.ts';

/** Sends one batch and follows it to its end. Never rejects for what the service, the network or the journal does. */
export async function runBatch<T extends BatchLinkInput>(
  run: RunContext,
  batch: Batch<T>,
): Promise<BatchEnd<T>> {
  const range = rangeOf(batch);
  const isJournalled = await emit(run, { ...range, type: 'planned' });
  if (!isJournalled || run.ending.aborted) return endedBefore(run, batch);

  const { domain_id, timeoutMs, idempotencyKey } = run.options;
  const post = new BatchPost(run, batch);
  let answer: BatchAnswer;
  try {
    answer = await run.deps.createBatch(
      { domain_id, links: batch.inputs },
      {
        ...requestOptions(run),
        signal: post.signal,
        timeoutMs,
        idempotency: idempotencyKey?.(range),
      },
      post,
    );
    await post.close();
  } catch (error) {
    await post.close();
    if (post.isAbort(error) && !post.mayBeDone) return endedBefore(run, batch);
    return refused(run, batch, asShortlinkError(run, error));
  }
  run.taken(range.count);
  if (answer.status === 'completed') return completed(run, batch, answer.results);
  await emit(run, { ...range, type: 'accepted', job_id: answer.job_id });
  return followJob(run, batch, answer.job_id, range.count);
}

/** The run ended while nothing of this batch can have been created. */
async function endedBefore<T extends BatchLinkInput>(
  run: RunContext,
  batch: Batch<T>,
): Promise<BatchEnd<T>> {
  const error = new ConnectionError('The run ended before this batch was sent', {
    outcome: 'not-sent',
  });
  await emit(run, { ...rangeOf(batch), type: 'unsent', error });
  return { type: 'unsent' };
}

async function refused<T extends BatchLinkInput>(
  run: RunContext,
  batch: Batch<T>,
  error: ShortlinkError,
): Promise<BatchEnd<T>> {
  const range = rangeOf(batch);
  const smaller = smallerBatchSize(error, range.count, run.largestTaken);
  if (smaller !== undefined) {
    await emit(run, { ...range, type: 'resized', error });
    return { type: 'resized', smaller };
  }
  const fate = refusalFate(error);
  await emit(run, { ...range, type: fate, error });
  switch (fate) {
    case 'unsent':
      run.endWith(error);
      return { type: 'unsent' };
    case 'unknown':
      return settledEnd(batch, () => ({ outcome: 'unknown', error: error.message, cause: error }));
    case 'failed':
      return settledEnd(batch, outcomeOfRefusal(error));
  }
}

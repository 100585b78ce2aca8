import { ApiError } from '../errors/api-errors.ts';
import { ConnectionError, InvalidOptionError } from '../errors/call-errors.ts';
import { JobFailedError, JobTimeoutError } from '../errors/job-errors.ts';
import { ShortlinkError } from '../errors/shortlink-error.ts';
import type { BatchResponse as BatchAnswer, BatchResultItem } from '../wire/batch.ts';
import type { Job } from '../wire/job.ts';
import type { LinkInput as BatchLinkInput } from '../wire/link.ts';
import { targetOf } from '../wire/link.ts';
import { BatchPost } from './batch-post.ts';
import { batchJson, derivedKey, keyOf, unwritableLinks } from './batch-request.ts';
import { endsRun, isEntryRefusal, judgeRefusal, refusedEntries } from './refusal.ts';
import { alignResults, type MissingOutcome, outcomeOfResult } from './results.ts';
import {
  asShortlinkError,
  type Batch,
  type BatchEnd,
  emit,
  type RunContext,
  rangeOf,
  requestOptions,
} from './run-context.ts';

/** Sends one batch and follows it to its end. Never rejects for what the service, the network or the journal does. */
export async function runBatch<T extends BatchLinkInput>(
  run: RunContext,
  batch: Batch<T>,
): Promise<BatchEnd<T>> {
  const range = rangeOf(batch);
  const wasFilling = run.sizing.isFilling;
  const isJournalled = await emit(run, batch, { type: 'planned' });
  if (!isJournalled || run.ending.aborted) return endedBefore(run, batch);

  let ownKey: string | undefined;
  try {
    ownKey = keyOf(range, run.options.idempotencyKey);
  } catch (error) {
    run.endWith(error);
    return endedBefore(run, batch, error);
  }
  const post = new BatchPost(run, batch);
  let answer: BatchAnswer | undefined;
  try {
    answer = await postGoodEntries(run, batch, post, ownKey);
    await post.close();
  } catch (error) {
    await post.close();
    if (!post.mayBeDone) {
      if (post.isAbort(error)) return endedBefore(run, batch);
      if (!ShortlinkError.isInstance(error)) {
        run.endWith(error);
        return endedBefore(run, batch, error);
      }
    }
    return refused(run, batch, asShortlinkError(run, error), wasFilling);
  }
  if (answer === undefined) {
    const [entry] = batch.refused.values();
    if (entry !== undefined) run.sizing.allRefused(range, entry.cause);
    return completed(run, batch, []);
  }
  const sent = range.count - positionsOfRefused(batch).length;
  run.taken(range, sent);
  if (answer.status === 'completed') return completed(run, batch, answer.results);
  await emit(run, batch, { type: 'accepted', job_id: answer.job_id });
  return followJob(run, batch, answer.job_id, sent);
}

/**
 * Waits for the job of an accepted batch. When a job can't be followed to its end, its batch is unknown, with its `job_id`,
 * so that a later run can wait for it again.
 *
 * @param total number of links in the job, when the batch was accepted just now; undefined for a job of an earlier run
 */
export async function followJob<T extends BatchLinkInput>(
  run: RunContext,
  batch: Batch<T>,
  job_id: string,
  total?: number,
): Promise<BatchEnd<T>> {
  const range = rangeOf(batch);
  const onProgress = async (job: Job) => {
    try {
      await run.options.onJobProgress?.(range, job);
    } catch (error) {
      run.endWith(error);
    }
  };
  let job: Job;
  try {
    const timeoutMs = run.options.jobTimeoutMs;
    const options = { ...requestOptions(run), timeoutMs, total, onProgress };
    job = await run.deps.waitForJob(job_id, options);
  } catch (thrown) {
    const error = asShortlinkError(run, thrown);
    // The last response that was received has the links that the job created until then.
    const done =
      JobFailedError.isInstance(error) || JobTimeoutError.isInstance(error)
        ? (error.job?.results ?? [])
        : [];
    // A job that failed is over, and a batch of an earlier run says nothing about those of this one.
    if (total !== undefined && !JobFailedError.isInstance(error)) endWithUnknown(run, error);
    const end = await notTaken(run, batch, 'unknown', error, done, job_id);
    if (endsRun(error)) run.endWith(error);
    return end;
  }
  const isWhole = total !== undefined || job.total === 0 || job.total !== job.results.length;
  return completed(run, batch, job.results, job_id, isWhole ? undefined : NOT_IN_JOB);
}

/** Error of a link that is not in the job of an earlier run. Only the earlier run received the reason. */
const NOT_IN_JOB = 'The service refused this link when its batch was sent';

/** The batch has its results: at once, or those of its job. `missing` is the error of links that have none. */
async function completed<T extends BatchLinkInput>(
  run: RunContext,
  batch: Batch<T>,
  answered: Job['results'],
  job_id?: string,
  missing?: string,
): Promise<BatchEnd<T>> {
  const results = resultsOf(batch, answered, missing);
  await emit(run, batch, { type: 'completed', results, job_id });
  return settled(batch, results);
}

/**
 * Posts the batch without the entries that the service is known to refuse, until it takes the others. A response that
 * names bad entries costs one more request, however many it names. Returns undefined when all entries are refused.
 */
async function postGoodEntries<T extends BatchLinkInput>(
  run: RunContext,
  batch: Batch<T>,
  post: BatchPost,
  ownKey: string | undefined,
): Promise<BatchAnswer | undefined> {
  const { domain_id, timeoutMs } = run.options;
  const { first, inputs, refused } = batch;
  for (;;) {
    const omitted = positionsOfRefused(batch);
    if (omitted.length === inputs.length) return undefined;
    const isSent = (offset: number) => !refused.has(first + offset);
    const offsets = omitted.length === 0 ? undefined : [...inputs.keys()].filter(isSent);
    const indexOf = (place: number) => first + (offsets?.[place] ?? place);
    const links = omitted.length === 0 ? inputs : inputs.filter((_, offset) => isSent(offset));
    const json = batchJson(domain_id, links);
    if (json === undefined) {
      const errors = unwritableLinks(links, indexOf);
      if (errors.size === 0)
        throw new InvalidOptionError('source', 'links that do not change while they are sent');
      for (const [place, error] of errors) {
        refused.set(indexOf(place), { error: error.message, cause: error });
      }
      continue;
    }
    if (omitted.length > 0) post.reduced = resultsOf(batch, []);
    const idempotency = ownKey === undefined ? undefined : derivedKey(ownKey, omitted);
    const options = { ...requestOptions(run), signal: post.signal, timeoutMs, idempotency };
    try {
      return await run.deps.postBatch({ json, count: links.length }, options, post);
    } catch (error) {
      const hasOwnKey = ownKey !== undefined;
      if (!ApiError.isInstance(error) || !isEntryRefusal(error, { hasOwnKey })) throw error;
      const reasons = refusedEntries(error, links.length);
      if (reasons.size === 0 && error.body && links.length === 1 && inputs.length > 1) {
        reasons.set(0, error.message);
      }
      if (reasons.size === 0) throw error;
      for (const [place, reason] of reasons) {
        refused.set(indexOf(place), { error: reason, cause: error });
      }
      post.nothingDone();
      post.signal.throwIfAborted();
    }
  }
}

function positionsOfRefused({ first, inputs, refused }: Batch<BatchLinkInput>): number[] {
  if (refused.size === 0) return [];
  return [...inputs.keys()].filter((offset) => refused.has(first + offset));
}

/** The run ended while nothing of this batch can have been created. */
async function endedBefore<T extends BatchLinkInput>(
  run: RunContext,
  batch: Batch<T>,
  cause?: unknown,
): Promise<BatchEnd<T>> {
  const message = 'The run ended before this batch was sent';
  const error = new ConnectionError(message, { outcome: 'not-sent', cause });
  await emit(run, batch, { type: 'unsent', error });
  return { type: 'unsent' };
}

async function refused<T extends BatchLinkInput>(
  run: RunContext,
  batch: Batch<T>,
  error: ShortlinkError,
  wasFilling: boolean,
): Promise<BatchEnd<T>> {
  const range = rangeOf(batch);
  const { largestTaken, mayFillAgain } = run.sizing;
  const count = range.count - positionsOfRefused(batch).length;
  const hasOwnKey = run.options.idempotencyKey !== undefined;
  const hasDomain = run.options.domain_id !== undefined;
  const mayFill = !wasFilling || mayFillAgain;
  const refusal = judgeRefusal(error, { count, largestTaken, hasOwnKey, hasDomain, mayFill });
  switch (refusal.type) {
    case 'resized':
    case 'filled':
    case 'split':
      await emit(run, batch, { type: 'resized', error });
      return refusal;
    case 'unsent':
      await emit(run, batch, { type: 'unsent', error });
      run.endWith(error);
      return { type: 'unsent' };
    case 'failed':
    case 'unknown': {
      const isBadEntry = refusal.type === 'failed' && range.count === 1;
      if (isBadEntry) run.sizing.allRefused(range, error);
      else run.sizing.notTaken(range);
      if (refusal.type === 'unknown') endWithUnknown(run, error);
      return notTaken(run, batch, refusal.type, error);
    }
  }
}

/** Ends the run before anything is awaited, so that no other batch goes out meanwhile. */
function endWithUnknown(run: RunContext, error: ShortlinkError): void {
  if (run.options.onUnknown === 'stop') run.endWith(error);
}

/** The batch failed, or its outcome is unknown. `answered` are the results of its job until then. */
async function notTaken<T extends BatchLinkInput>(
  run: RunContext,
  batch: Batch<T>,
  outcome: 'failed' | 'unknown',
  error: ShortlinkError,
  answered: Job['results'] = [],
  job_id?: string,
): Promise<BatchEnd<T>> {
  const results = resultsOf(batch, answered);
  await emit(run, batch, { type: outcome, error, results, job_id });
  return settled(batch, results, { outcome, error: error.message, cause: error });
}

/** One result per link of the batch. `answered` holds the results of the entries that were sent. */
function resultsOf(
  batch: Batch<BatchLinkInput>,
  answered: Job['results'],
  missing?: string,
): readonly BatchResultItem[] {
  const { first, inputs, refused } = batch;
  const isSent = (_: unknown, offset: number) => !refused.has(first + offset);
  const sent = refused.size === 0 ? inputs : inputs.filter(isSent);
  let results = alignResults(sent, answered);
  if (missing !== undefined) {
    const isMissing = ({ code, error }: BatchResultItem) => code === undefined && !error;
    // When some results match no link, a link without a result may be one that the service spells otherwise.
    if (results.filter(isMissing).length === results.length - answered.length) {
      results = results.map((item) => (isMissing(item) ? { ...item, error: missing } : item));
    }
  }
  if (sent.length === inputs.length) return results;
  let place = 0;
  return inputs.map((input, offset) => {
    const target_url = targetOf(input);
    const error = refused.get(first + offset)?.error;
    return error === undefined ? (results[place++] ?? { target_url }) : { target_url, error };
  });
}

function settled<T extends BatchLinkInput>(
  { first, inputs, refused }: Batch<T>,
  results: readonly BatchResultItem[],
  missing?: MissingOutcome,
): BatchEnd<T> {
  const outcome = (offset: number) => {
    const entry = refused.get(first + offset);
    if (entry !== undefined) return { outcome: 'failed' as const, ...entry };
    return outcomeOfResult(results[offset], missing);
  };
  return { type: 'settled', batch: { first, inputs, outcome } };
}

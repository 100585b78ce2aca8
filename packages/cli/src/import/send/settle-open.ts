import {
  ApiError,
  JobFailedError,
  NotFoundError,
  type RecordedResult,
  type ShortlinkError,
} from '@shortlink/sdk';
import type { ExistingLinks } from '../check/existing-links.ts';
import type { Journal, OpenBatch } from '../journal/journal.ts';
import { alignResults, packResults } from '../journal/packed-results.ts';
import type { ImportDeps, ImportSettings } from '../types.ts';
import { failedResults } from './batch-recorder.ts';

/** Services keep idempotency keys for 24 hours; an hour of it is left for clocks and waits. */
const KEY_LIFETIME_MS = 23 * 60 * 60 * 1000;

/** How far a clock is set back when it is corrected. */
const CLOCK_SKEW_MS = 60 * 60 * 1000;

interface SettleInput {
  journal: Journal;
  existing: ExistingLinks;
  settings: ImportSettings;
  deps: ImportDeps;
}

/** A refused key, a missing permission, a rate limit: the next request would fail for the same reason. */
const ENDING_STATUSES = [401, 403, 429];

/** How settling the open batches ended. */
interface Settled {
  /** Whether anything was decided, so that the rows must be compared again. */
  isChanged: boolean;
  /** Whether links were forgotten that a response left out, so that the service would give the same response to their key. */
  needsNewKeys: boolean;
  /** What ended it early, such as a key that was refused. */
  failure: { error: unknown } | undefined;
}

/**
 * Decides what requests of an earlier run, or an earlier round, have created: jobs are polled; a request whose idempotency key the
 * service still knows is sent again, as it was; with `--on-unknown retry` the others are forgotten, so that their rows are new.
 */
export async function settleOpenBatches(input: SettleInput): Promise<Settled> {
  const { journal, deps, settings } = input;
  const needsNewKeys = settings.onUnknown === 'retry' && journal.releaseUnanswered();
  const settled: Settled = { isChanged: needsNewKeys, needsNewKeys, failure: undefined };
  const open = journal.openBatches();
  if (open.length > 0) {
    const rows = open.reduce((sum, { size }) => sum + size, 0);
    deps.onEvent({ type: 'resuming', batches: open.length, rows });
  }
  const jobs = open.filter(({ job }) => job !== undefined);
  for (let first = 0; first < jobs.length; first += settings.concurrency) {
    const some = jobs.slice(first, first + settings.concurrency);
    await Promise.all(some.map((batch) => pollJob(batch, input, settled)));
  }
  for (const batch of journal.openBatches()) {
    if (settled.failure !== undefined || deps.stopSignal.aborted) break;
    if (batch.job !== undefined) continue;
    if (mayBeSentAgain(batch, input)) await sendAgain(batch, input, settled);
    else if (settings.onUnknown === 'retry') {
      journal.release(batch);
      settled.isChanged = true;
    }
  }
  return settled;
}

async function pollJob(batch: OpenBatch, input: SettleInput, settled: Settled): Promise<void> {
  const { journal, deps } = input;
  const { id, job: jobId = '', size } = batch;
  deps.onEvent({ type: 'batch-accepted', first: 0, count: size, jobId });
  const waiting = deps.client.jobs.wait(jobId, {
    signal: deps.signal,
    onProgress: ({ processed, total }) =>
      deps.onEvent({ type: 'job-progress', jobId, processed, total }),
  });
  const outcome = await waiting.then(
    ({ results }) => ({ results }),
    (error: unknown) => ({ error }),
  );
  if ('results' in outcome) settleJob(journal, batch, outcome.results);
  else if (JobFailedError.isInstance(outcome.error)) {
    settleJob(journal, batch, outcome.error.job.results, outcome.error.message);
  } else if (NotFoundError.isInstance(outcome.error)) {
    // The service has deleted the job, or it belongs to another key's account: its outcome stays unknown.
    journal.unknown(id, outcome.error.message, undefined);
  } else {
    // Most errors say nothing about the job: a later run polls it again.
    if (ApiError.isInstance(outcome.error) && ENDING_STATUSES.includes(outcome.error.status)) {
      settled.failure ??= outcome;
    }
    return;
  }
  settled.isChanged = true;
}

/** The job of a batch has ended: its results are final. */
function settleJob(
  journal: Journal,
  batch: OpenBatch,
  results: readonly RecordedResult[],
  missing?: string,
): void {
  const targets = journal.pairsOf(batch).map((pair) => pair.replace(/\n.*$/s, ''));
  journal.settle(batch, packResults(alignResults(targets, results)), missing);
}

/** With its key, within the key's life, the service responds to a second request with the links of the first one. */
function mayBeSentAgain(batch: OpenBatch, { settings, deps, existing }: SettleInput): boolean {
  if (!settings.idempotency || batch.idempotencyKey === undefined || batch.body === undefined) {
    return false;
  }
  const age = (deps.wallClock ?? Date.now)() - Date.parse(batch.sentAt);
  // A clock that was set back says nothing of the age. Links of rows that were removed from the input are not sent again.
  return age > -CLOCK_SKEW_MS && age < KEY_LIFETIME_MS && existing.asksFor(batch);
}

async function sendAgain(batch: OpenBatch, input: SettleInput, settled: Settled): Promise<void> {
  const { journal, deps } = input;
  const { id, size, body = '[]', idempotencyKey = '', domain } = batch;
  const refused = new AbortController();
  try {
    const items = deps.client.links.createMany(JSON.parse(body), {
      domain_id: domain,
      batchSize: size,
      concurrency: 1,
      idempotencyKey: () => idempotencyKey,
      signal: AbortSignal.any([deps.signal, refused.signal]),
      stopSignal: deps.stopSignal,
      onBatch: (event) => {
        switch (event.type) {
          case 'accepted':
            journal.accepted(id, event.job_id);
            break;
          case 'completed':
            journal.settle(batch, packResults(event.results));
            break;
          case 'failed':
            journal.settle(batch, failedResults(event.error, size));
            break;
          case 'unknown':
            if (!JobFailedError.isInstance(event.error)) {
              journal.unknown(id, event.error.message, event.job_id);
              return;
            }
            settleJob(journal, batch, event.error.job.results, event.error.message);
            break;
          case 'resized':
            refused.abort();
            // Details that were lost may have named the entries without which the batch was created, under a key of its own.
            if (hasLostDetails(event.error)) return;
            // The key was never used, or its links would have come back: the rows are sent like any others.
            journal.release(batch);
            break;
          default:
            return;
        }
        settled.isChanged = true;
      },
    });
    for await (const _ of items);
  } catch (error) {
    if (!refused.signal.aborted) settled.failure ??= { error };
  }
}

/** A service whose body can be read and names no entries never does, and gets parts of the batch as batches of their own. */
function hasLostDetails(error: ShortlinkError): boolean {
  return ApiError.isInstance(error) && error.status === 400 && error.body === undefined;
}

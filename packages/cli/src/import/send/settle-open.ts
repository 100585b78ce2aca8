import {
  ApiError,
  type BatchEvent,
  type CreateLinkBody,
  type ShortlinkError,
} from '@shortlink/sdk';
import type { Comparison, Evidence } from '../check/evidence.ts';
import type { Batch } from '../journal/batches.ts';
import type { Journal } from '../journal/journal.ts';
import { type ImportDeps, type ImportSettings, NO_RESPONSE } from '../types.ts';
import { decisionOf, resultsOf } from './batch-recorder.ts';

/** Services keep idempotency keys for 24 hours; an hour of it is left for clocks and waits. */
const KEY_LIFETIME_MS = 23 * 60 * 60 * 1000;

/** How far a clock is set back when it is corrected. */
const CLOCK_SKEW_MS = 60 * 60 * 1000;

/**
 * Stands for a link that the service has refused. Since it can't be written as JSON, the client leaves it out: the request then has the body
 * and the key with which it was last sent. With the link itself, which the service may take by now, it would be another request.
 */
const REFUSED: CreateLinkBody & { toJSON(): never } = {
  target_url: '',
  toJSON: () => {
    throw new Error('The service has refused this link');
  },
};

interface SettleInput {
  journal: Journal;
  evidence: Evidence;
  settings: ImportSettings;
  deps: ImportDeps;
  /** Whether requests have keys, so that they may be sent again. */
  idempotency: boolean;
}

/** How settling the open batches ended. */
interface Settled {
  /** How the rows compare with what was decided; undefined where nothing was. */
  comparison: Comparison | undefined;
  /** What ended it early, such as a key that was refused. */
  failure: { error: unknown } | undefined;
}

interface Settling extends Settled {
  /** Batches that were polled or sent again. */
  followed: Set<number>;
  /** Whether anything was decided since the rows were compared. */
  isChanged: boolean;
}

/**
 * Decides what requests of an earlier run, or an earlier round, have created: jobs are polled; a request whose idempotency key the
 * service still knows is sent again, as it was; with `--on-unknown retry` the others are forgotten, and what files say of them, so that
 * their rows are new.
 */
export async function settleOpenBatches(input: SettleInput): Promise<Settled> {
  const { journal, evidence, settings, deps } = input;
  const isRetry = settings.onUnknown === 'retry';
  const isUnanswered = isRetry && journal.releaseUnanswered();
  const isReleased = isRetry && evidence.releaseDoubts();
  const open = journal.openBatches();
  if (open.length > 0) {
    const rows = open.reduce((sum, { size }) => sum + size, 0);
    deps.onEvent({ type: 'resuming', batches: open.length, rows });
  }
  const settled: Settling = {
    comparison: undefined,
    failure: undefined,
    followed: new Set(),
    isChanged: isUnanswered || isReleased,
  };
  // A row whose link was refused may ask for one of another batch, which is followed then.
  do {
    await followOpenBatches(input, settled);
    if (!settled.isChanged) break;
    settled.isChanged = false;
    settled.comparison = evidence.compare();
  } while (settled.comparison.unknown > 0 && settled.failure === undefined);
  return settled;
}

/** Follows the open batches, or forgets them, but for those that were followed before. */
async function followOpenBatches(input: SettleInput, settled: Settling): Promise<void> {
  const { journal, deps, settings } = input;
  const followed = new Set(settled.followed);
  const openBatches = () => journal.openBatches().filter(({ id }) => !followed.has(id));
  const isEnded = () => settled.failure !== undefined || deps.stopSignal.aborted;
  const jobs = openBatches().filter(({ job }) => job !== undefined);
  for (let first = 0; first < jobs.length && !isEnded(); first += settings.concurrency) {
    const some = jobs.slice(first, first + settings.concurrency);
    await Promise.all(some.map((batch) => followBatch(batch, input, settled)));
  }
  for (const batch of openBatches()) {
    if (isEnded()) break;
    if (batch.job !== undefined) continue;
    if (mayBeSentAgain(batch, input)) await followBatch(batch, input, settled);
    else if (settings.onUnknown === 'retry') {
      journal.release(batch);
      settled.isChanged = true;
    }
  }
}

/** With its key, within the key's life, the service responds to a second request with the links of the first one. */
function mayBeSentAgain(
  batch: Batch,
  { journal, idempotency, deps, evidence }: SettleInput,
): boolean {
  if (!idempotency || !batch.mayRepeat) return false;
  const age = ageOf(batch, deps);
  // A clock that was set back says nothing of the age, neither now nor later.
  if (age <= -CLOCK_SKEW_MS || age >= KEY_LIFETIME_MS) {
    journal.expired(batch.id);
    return false;
  }
  // Links of rows that were removed from the input are not sent again.
  return evidence.asksFor(batch);
}

/** Time since a batch was sent, in milliseconds. */
function ageOf({ sentAt }: Batch, { wallClock }: ImportDeps): number {
  return wallClock() - Date.parse(sentAt);
}

/** Polls the job of a batch; or sends the batch again under its key, as it was. */
async function followBatch(
  batch: Batch,
  { journal, deps }: SettleInput,
  settled: Settling,
): Promise<void> {
  const { job, size, idempotencyKey = '', domain, firstLink } = batch;
  settled.followed.add(batch.id);
  const ended = new AbortController();
  let keyExpires: NodeJS.Timeout | undefined;
  const links = journal.linksOf(batch);
  const onBatch = (ids: readonly number[]) => (event: BatchEvent) => {
    if (event.type === 'accepted') clearTimeout(keyExpires);
    if (event.type === 'resized') ended.abort();
    settled.isChanged = record(event, batch, ids, journal) || settled.isChanged;
  };
  const poll = (jobId: string) => {
    deps.onEvent({ type: 'batch-accepted', first: 0, count: size, jobId });
    return deps.client.links.createMany(links, {
      resume: [{ state: 'accepted', first: 0, count: links.length, job_id: jobId }],
      signal: deps.signal,
      onJobProgress: (_, { processed, total }) =>
        deps.onEvent({ type: 'job-progress', jobId, processed, total }),
      onBatch: onBatch(links.map((link) => link.id)),
    });
  };
  const sendAgain = () => {
    const known = new Set(links.map((link) => link.id));
    const again = journal
      .bodyOf(batch)
      .map((link, index) => (known.has(firstLink + index) ? link : REFUSED));
    // A rate limit may be waited for longer than the service knows the key.
    keyExpires = setTimeout(() => ended.abort(), KEY_LIFETIME_MS - ageOf(batch, deps));
    return deps.client.links.createMany(again, {
      domain_id: domain,
      batchSize: size,
      concurrency: 1,
      idempotencyKey: () => idempotencyKey,
      signal: AbortSignal.any([deps.signal, ended.signal]),
      stopSignal: deps.stopSignal,
      onBatch: onBatch(Array.from({ length: size }, (_, index) => firstLink + index)),
    });
  };
  try {
    for await (const _ of job === undefined ? sendAgain() : poll(job));
  } catch (error) {
    if (!ended.signal.aborted && !deps.signal.aborted) settled.failure ??= { error };
  } finally {
    clearTimeout(keyExpires);
  }
}

/** Records what became of a batch whose links have these ids. Returns whether anything was decided. */
function record(
  event: BatchEvent,
  batch: Batch,
  ids: readonly number[],
  journal: Journal,
): boolean {
  switch (event.type) {
    case 'reduced':
      journal.decide(batch, {
        results: resultsOf(event.results, NO_RESPONSE),
        ids,
        isFinal: false,
      });
      return false;
    case 'accepted':
      journal.accepted(batch.id, event.job_id);
      return true;
    case 'completed':
    case 'failed':
    case 'unknown': {
      // A refusal that can't be read may be that of a proxy, and the link may exist.
      if (event.type === 'failed' && hasLostDetails(event.error)) return false;
      const decision = decisionOf(event);
      journal.decide(batch, { ...decision, ids });
      return decision.isFinal || event.results.some(({ code, error }) => code || error);
    }
    case 'resized':
      // Details that were lost may have named the entries without which the batch was created, under a key of its own.
      if (hasLostDetails(event.error)) return false;
      // The key was never used, or its links would have come back: the rows are sent like any others.
      journal.release(batch);
      return true;
    default:
      return false;
  }
}

/** A service whose body can be read and names no entries never does, and gets parts of the batch as batches of their own. */
function hasLostDetails(error: ShortlinkError): boolean {
  if (!ApiError.isInstance(error) || error.body !== undefined) return false;
  return error.status === 400 || error.status === 422;
}

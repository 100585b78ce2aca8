import { ApiError, type BatchEvent, type CreateLinkBody } from '@shortlink/sdk';
import { type Ask, agesOf, IN_FLIGHT_MS } from '../check/ask-service.ts';
import type { Comparison } from '../check/read-evidence.ts';
import { type Batch, isAlive } from '../journal/batches.ts';
import { decisionOf, recordEvent } from './batch-recorder.ts';
import type { ServiceTraits } from './send-new-rows.ts';

/** Services keep idempotency keys for 24 hours; an hour of it is left for clocks and waits. */
const KEY_LIFETIME_MS = 23 * 60 * 60 * 1000;

/** How far a clock is set back when it is corrected. */
const CLOCK_SKEW_MS = 60 * 60 * 1000;

/**
 * Stands for a link that the service has refused. It can't be written as JSON, so that the client leaves it out, and the request has the
 * body and the key with which it was last sent. With the link, which the service may take by now, it would be another request.
 */
const REFUSED: CreateLinkBody & { toJSON(): never } = {
  target_url: '',
  toJSON: () => {
    throw new Error('The service has refused this link');
  },
};

type SettleInput = Ask & Pick<ServiceTraits, 'idempotency' | 'canAsk'>;

/** How settling the open batches ends. */
interface Settling {
  /** How the rows compare with what was decided; undefined where nothing was. */
  comparison?: Comparison;
  /** What ended it early, such as a key that was refused. */
  failure?: { error: unknown };
  /** Batches that were sent again. */
  repeated: Set<number>;
  /** Whether anything was decided since the rows were compared. */
  isChanged: boolean;
}

/**
 * Decides what requests of an earlier run or round have created: jobs are polled, and a request whose idempotency key the service still knows
 * is sent again. With `--on-unknown retry` the others, and the doubts of files, are forgotten, so that their rows are new.
 */
export async function settleOpenBatches(input: SettleInput): Promise<Settling> {
  const { journal, evidence, settings, deps } = input;
  const isRetry = settings.onUnknown === 'retry';
  const isUnanswered = isRetry && journal.releaseUnanswered();
  const isReleased = isRetry && evidence.releaseDoubts();
  const open = journal.openBatches();
  if (open.length > 0) {
    const rows = open.reduce((sum, { size }) => sum + size, 0);
    deps.onEvent({ type: 'resuming', batches: open.length, rows });
  }
  const settled: Settling = { repeated: new Set(), isChanged: isUnanswered || isReleased };
  const jobs = open.filter((batch) => jobOf(batch) !== undefined && isAlive(batch));
  await pollJobs(jobs, input, settled);
  // A row whose link was refused may ask for one of another batch, which is sent again then.
  do {
    for (const batch of journal.openBatches()) {
      if (settled.failure !== undefined || deps.stopSignal.aborted) break;
      if (batch.job !== undefined || settled.repeated.has(batch.id)) continue;
      if (mayBeSentAgain(batch, input)) await sendAgain(batch, input, settled);
      else if (isRetry) {
        journal.release(batch);
        settled.isChanged = true;
      }
    }
    if (!settled.isChanged) break;
    settled.isChanged = false;
    settled.comparison = await evidence.compare();
  } while (settled.comparison.unknown > 0 && settled.failure === undefined);
  return settled;
}

/** `--on-unknown retry` in a dry run: nobody says yet what became of jobs and of requests with a key, and the others would be sent again. */
export function releaseAll(input: SettleInput): Promise<Comparison> {
  const { journal, evidence } = input;
  const isLost = (batch: Batch) => jobOf(batch) === undefined && !mayBeSentAgain(batch, input);
  journal.release(...journal.openBatches().filter(isLost));
  journal.releaseUnanswered();
  evidence.releaseDoubts();
  return evidence.compare();
}

/** Whether the service would respond to a second request with the links of the first one, by its key and within the key's life. */
function mayBeSentAgain(batch: Batch, input: SettleInput): boolean {
  const { journal, idempotency, canAsk, deps, evidence } = input;
  if (!idempotency || !batch.mayRepeat) return false;
  const { byClock, byUptime } = agesOf(batch.again ?? batch, deps);
  const isInFlight = byUptime >= 0 && Math.max(byClock, byUptime) < IN_FLIGHT_MS;
  // A look-up also finds what a run without this journal has created since. It would have to wait for what is in flight.
  if (canAsk && !isInFlight) return false;
  const { byClock: age } = agesOf(batch, deps);
  // A clock that was set back never says anything of the age.
  if (age <= -CLOCK_SKEW_MS || age >= KEY_LIFETIME_MS) {
    journal.note(batch.id, 'expired');
    return false;
  }
  // Links of rows that were removed from the input are not sent again.
  return evidence.asksFor(batch);
}

/** A job that was not found is asked for again, with the key of this run. */
function jobOf(batch: Batch | undefined): string | undefined {
  return batch?.job ?? batch?.lostJob;
}

async function pollJobs(batches: readonly Batch[], input: SettleInput, settled: Settling) {
  const { journal, deps, settings } = input;
  const byFirst = new Map<number, Batch>();
  let first = 0;
  const resume = batches.map((batch) => {
    const jobId = jobOf(batch) ?? '';
    const count = batch.created + batch.unanswered;
    const record = { state: 'accepted', first, count, job_id: jobId } as const;
    deps.onEvent({ type: 'batch-accepted', first: 0, count: batch.size, jobId });
    byFirst.set(first, batch);
    first += count;
    return record;
  });
  function* links() {
    for (const batch of batches) yield* journal.linksOf(batch);
  }
  const items = deps.client.links.createMany(links(), {
    resume,
    concurrency: settings.concurrency,
    signal: deps.signal,
    stopSignal: deps.stopSignal,
    onJobProgress: ({ first }, { processed, total }) => {
      const jobId = jobOf(byFirst.get(first)) ?? '';
      deps.onEvent({ type: 'job-progress', jobId, processed, total });
    },
    onBatch: (event) => {
      const batch = byFirst.get(event.first);
      if (batch === undefined) return;
      const ids = journal.linksOf(batch).map(({ id }) => id);
      settled.isChanged = record(event, batch, ids, input) || settled.isChanged;
    },
  });
  try {
    for await (const _ of items);
  } catch (error) {
    if (!deps.signal.aborted) settled.failure ??= { error };
  }
}

/** Sends a batch again under its key, as it was. */
async function sendAgain(batch: Batch, input: SettleInput, settled: Settling) {
  const { journal, deps } = input;
  const { size, idempotencyKey = '', domain, firstLink } = batch;
  settled.repeated.add(batch.id);
  const known = new Set(journal.linksOf(batch).map((link) => link.id));
  const links = journal
    .bodyOf(batch)
    .map((link, index) => (known.has(firstLink + index) ? link : REFUSED));
  const ended = new AbortController();
  // A rate limit may be waited for longer than the service knows the key.
  const { byClock: age } = agesOf(batch, deps);
  const keyExpires = setTimeout(() => ended.abort(), KEY_LIFETIME_MS - age);
  const items = deps.client.links.createMany(links, {
    domain_id: domain,
    batchSize: size,
    concurrency: 1,
    idempotencyKey: () => idempotencyKey,
    signal: AbortSignal.any([deps.signal, ended.signal]),
    stopSignal: deps.stopSignal,
    onBatch: (event) => {
      if (event.type === 'accepted') clearTimeout(keyExpires);
      if (event.type === 'resized') ended.abort();
      settled.isChanged = record(event, batch, undefined, input) || settled.isChanged;
    },
  });
  try {
    for await (const _ of items);
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
  ids: readonly number[] | undefined,
  { journal, deps }: SettleInput,
): boolean {
  if (event.type === 'planned' || event.type === 'unsent') return false;
  // A refusal that can't be read may be that of a proxy. Or it named entries without which the batch was created, under a key of its own.
  if ((event.type === 'failed' || event.type === 'resized') && hasLostDetails(event.error))
    return false;
  // A job that was not found before either.
  if (event.type === 'unknown' && batch.lostJob !== undefined) {
    if (decisionOf(event).lostJob === batch.lostJob) return false;
  }
  // The key of a resized batch was never used: its links would have come back.
  recordEvent(journal, batch, event, deps, ids);
  if (event.type === 'sent' || event.type === 'reduced') return false;
  if (event.type !== 'unknown') return true;
  return decisionOf(event).isFinal || event.results.some(({ code, error }) => code || error);
}

/** Whether a refusal may have named entries. One that names none is followed by parts of the batch as batches of their own. */
function hasLostDetails(error: unknown): boolean {
  if (!ApiError.isInstance(error) || error.body !== undefined) return false;
  return error.status === 400 || error.status === 422;
}

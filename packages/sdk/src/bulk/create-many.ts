import { checkAmount } from '../check-options.ts';
import { InvalidOptionError } from '../errors/call-errors.ts';
import type { BatchLinkInput } from '../wire/batch.ts';
import { MAX_BATCH_LINKS } from '../wire/limits.ts';
import { BatchPlan } from './batch-plan.ts';
import { BulkRun, type BulkRunInit } from './bulk-run.ts';
import { ItemIterator } from './item-iterator.ts';
import type { SettledBatch } from './item-outcome.ts';
import type { CreateManyDeps } from './run-context.ts';
import type { BulkItems, BulkSource, CreateManyOptions } from './types.ts';

/** Batches in flight at once, where the caller names no number. */
const DEFAULT_CONCURRENCY = 4;

/**
 * Creates a link for every entry of `source`, in batches, and yields what became of each, in order. The source is read
 * lazily; nothing happens before the first `next()`.
 *
 * What is yielded is settled. A batch whose fate is unknown (connection lost after sending, a job that can't be
 * followed) is yielded as `unknown`, one that the service refused as invalid is yielded as `failed`, and the run goes
 * on; no link is ever sent twice. What would stop every further batch ends the run: a plan limit, a refused key, a rate
 * limit longer than the client may wait, a service that can't be reached, an error of the source or of `onBatch`, an
 * aborted `signal`. Then batches in flight are finished and yielded, the error is thrown, and the links that were not
 * yielded were not created.
 *
 * Leaving the loop early aborts what is in flight, reports it to `onBatch` as `unknown`, and closes the source.
 *
 * @throws InvalidOptionError at once, before anything is read or sent
 */
export function createMany<T extends BatchLinkInput>(
  deps: CreateManyDeps,
  source: BulkSource<T>,
  options: CreateManyOptions = {},
): BulkItems<T> {
  const { concurrency = DEFAULT_CONCURRENCY, batchSize = 'auto', resume = [] } = options;
  checkCount('concurrency', concurrency, Number.MAX_SAFE_INTEGER);
  if (batchSize !== 'auto') checkCount('batchSize', batchSize, MAX_BATCH_LINKS);
  if (!isIterable(source)) throw new InvalidOptionError('source', 'iterable or async iterable');
  checkAmount('jobTimeoutMs', options.jobTimeoutMs ?? 0, 'milliseconds');

  return new ItemIterator(
    runBatches({
      deps,
      options,
      source,
      plan: new BatchPlan(resume),
      batchSize: batchSize === 'auto' ? MAX_BATCH_LINKS : batchSize,
      concurrency,
    }),
  );
}

async function* runBatches<T extends BatchLinkInput>(
  init: BulkRunInit<T>,
): AsyncGenerator<SettledBatch<T>, void, undefined> {
  yield* new BulkRun(init).batches();
}

function checkCount(option: string, value: number, most: number): void {
  if (Number.isInteger(value) && value >= 1 && value <= most) return;
  const range = most === Number.MAX_SAFE_INTEGER ? 'of 1 or more' : `from 1 to ${most}`;
  throw new InvalidOptionError(option, `a whole number ${range}`);
}

function isIterable(source: unknown): boolean {
  if (typeof source !== 'object' || source === null) return false;
  return Symbol.asyncIterator in source || Symbol.iterator in source;
}

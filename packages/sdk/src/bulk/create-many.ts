import { checkAmount, checkCount, checkOneOf, givenOptions, isIterable } from '../check-options.ts';
import { InvalidOptionError } from '../errors/call-errors.ts';
import { MAX_BATCH_LINKS } from '../wire/limits.ts';
import type { LinkInput } from '../wire/link.ts';
import { BulkRun } from './bulk-run.ts';
import { BatchPlan } from './order.ts';
import type { BulkItem, BulkSource, CreateManyDeps, CreateManyOptions } from './types.ts';

/** Batches in flight at once, when the caller gives no number. */
const DEFAULT_CONCURRENCY = 4;

/** Names of the options, to refuse others. A test compares them with the type. */
export const BULK_OPTIONS =
  'batchSize concurrency domain_id headers idempotencyKey jobTimeoutMs maxDelayMs maxRetries onBatch onJobProgress onUnknown resume signal stopSignal timeoutMs';

/** How long a link waits for others to fill its batch, in milliseconds, when the caller gives no number. */
const DEFAULT_MAX_DELAY_MS = 1_000;

/**
 * Creates a link for every entry of `source`, in batches, and yields the outcome of each, in order. The source is read
 * lazily; nothing happens before the first `next()`.
 *
 * Every yielded item is final, and no link is ever created twice. Entries that the service refuses as invalid are yielded as
 * `failed`, and the run continues. It ends where more batches would fail or be in doubt: at a plan limit, a refused key, a rate
 * limit longer than the client may wait, a service that can't be reached or that refuses every link, a batch with an unknown
 * outcome (see `onUnknown`), an error of the source or of `onBatch`, an aborted `signal`. Then batches in flight are finished
 * and yielded, the error is thrown, and the links that were not yielded were not created.
 *
 * Leaving the loop early aborts what is in flight, reports it to `onBatch` as `unknown`, and closes the source.
 *
 * @throws InvalidOptionError at once, before anything is read or sent
 */
export function createMany<T extends LinkInput>(
  deps: CreateManyDeps,
  source: BulkSource<T>,
  asGiven?: CreateManyOptions,
): AsyncGenerator<BulkItem<T>, void, undefined> {
  const options = givenOptions(asGiven, BULK_OPTIONS);
  const { concurrency = DEFAULT_CONCURRENCY, batchSize = 'auto', resume = [] } = options;
  checkCount('concurrency', concurrency, { least: 1, most: Number.MAX_SAFE_INTEGER });
  if (batchSize !== 'auto') checkCount('batchSize', batchSize, { least: 1, most: MAX_BATCH_LINKS });
  if (!isIterable(source)) throw new InvalidOptionError('source', 'iterable or async iterable');
  checkAmount('jobTimeoutMs', options.jobTimeoutMs ?? 0, 'milliseconds');
  const hasOwnKeys = options.idempotencyKey !== undefined;
  const onUnknown = options.onUnknown ?? (hasOwnKeys || deps.hasIdempotency ? 'continue' : 'stop');
  checkOneOf('onUnknown', onUnknown, ['stop', 'continue']);
  const maxDelayMs =
    options.maxDelayMs ?? (hasOwnKeys ? Number.POSITIVE_INFINITY : DEFAULT_MAX_DELAY_MS);

  const run = new BulkRun(deps, source, new BatchPlan(resume), {
    ...options,
    batchSize: batchSize === 'auto' ? MAX_BATCH_LINKS : batchSize,
    concurrency,
    onUnknown,
    maxDelayMs: checkAmount('maxDelayMs', maxDelayMs, 'milliseconds'),
  });
  return run.items();
}

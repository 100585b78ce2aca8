import * as check from '../check-options.ts';
import { MAX_BATCH_LINKS } from '../wire/limits.ts';
import type { LinkInput } from '../wire/link.ts';
import { BulkRun } from './bulk-run.ts';
import type * as bulk from './types.ts';

/** Batches in flight at once, when the caller gives no number. */
const DEFAULT_CONCURRENCY = 4;

/** Names of the options, to refuse others. A test compares them with the type. */
export const BULK_OPTIONS =
  'batchSize concurrency domain_id headers idempotencyKey jobTimeoutMs maxDelayMs maxRetries onBatch onJobProgress onUnknown resume signal stopSignal timeoutMs';

const RECORD_STATES: readonly string[] = ['completed', 'accepted', 'planned', 'failed', 'unknown'];

/** How long a link waits for others to fill its batch, in milliseconds, when the caller gives no number. */
const DEFAULT_MAX_DELAY_MS = 1_000;

/**
 * Checks what `links.createMany` is given, and fills in defaults. Nothing is read or sent before the first `next()`.
 *
 * @throws InvalidOptionError
 */
export function createMany<T extends LinkInput>(
  deps: bulk.CreateManyDeps,
  source: bulk.BulkSource<T>,
  asGiven?: bulk.CreateManyOptions,
): AsyncGenerator<bulk.BulkItem<T>, void, undefined> {
  const options = check.given(asGiven, BULK_OPTIONS);
  if (!check.isIterable(source)) check.refuse('source', 'iterable or async iterable');
  const hasOwnKeys = options.idempotencyKey !== undefined;
  const { batchSize = 'auto', resume = [] } = options;
  const run = new BulkRun(deps, source, {
    concurrency: DEFAULT_CONCURRENCY,
    maxDelayMs: hasOwnKeys ? Number.POSITIVE_INFINITY : DEFAULT_MAX_DELAY_MS,
    onUnknown: hasOwnKeys || deps.hasIdempotency ? 'continue' : 'stop',
    ...options,
    batchSize: batchSize === 'auto' ? MAX_BATCH_LINKS : batchSize,
    resume: checkRecords(resume),
  });
  return run.items();
}

/** What an earlier run recorded, in the order of the source. */
function checkRecords(resume: Iterable<bulk.BatchRecord>): readonly bulk.BatchRecord[] {
  const records = [...resume].sort((a, b) => a.first - b.first);
  let end = 0;
  for (const { first, count, state } of records) {
    const isRange = Number.isInteger(first) && first >= 0 && Number.isInteger(count) && count > 0;
    const problem =
      isRange && RECORD_STATES.includes(state)
        ? first < end && `free of overlaps; two batches hold link ${first}`
        : `a list of batches; one has first ${first} and count ${count} and state ${state}`;
    if (problem) check.refuse('resume', problem);
    end = first + count;
  }
  return records;
}

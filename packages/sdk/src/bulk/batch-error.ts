import { ApiError, PlanLimitError } from '../errors/api-errors.ts';
import { isOutcomeUnknown } from '../errors/call-errors.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import { MAX_BATCH_LINKS, MAX_SYNC_BATCH_LINKS } from '../wire/limits.ts';
import type { LinkInput } from '../wire/link.ts';
import type { Batch } from './batch-plan.ts';
import { sentOffsets } from './batch-request.ts';

/**
 * What an error of a batch's POST means for the batch:
 * - `resized`: the plan takes batches of at most `size` links; nothing was created.
 * - `filled`: the plan has room for `room` more links; nothing was created.
 * - `split`: the service refuses an entry or the size and does not say which; nothing was created.
 * - `failed`: the service refuses these links; other batches may succeed.
 * - `unknown`: the links may exist.
 * - `unsent`: nothing was created, and the next batch would meet the same error (API key, permission, plan limit, rate
 *   limit, wrong address, service unreachable), so the run ends.
 */
export type Verdict =
  | { type: 'resized'; size: number }
  | { type: 'filled'; room: number }
  | { type: 'split' | 'failed' | 'unknown' | 'unsent' };

/** What {@link judgeError} needs in addition to the error. */
export interface FailedRequest {
  /** Links in the request, and the most that the service took in one request of this run. */
  count: number;
  largestTaken: number;
  /** Whether the caller gives each batch its idempotency key. */
  hasOwnKey: boolean;
  /** Whether the request has a `domain_id` for all of its links. */
  hasDomain: boolean;
  /** Whether a smaller batch may still be tried to fill the plan. */
  mayFill: boolean;
}

/** Batch sizes of the plans, the endpoint's own maximum first. */
const PLAN_BATCH_SIZES = [MAX_BATCH_LINKS, 5_000, MAX_SYNC_BATCH_LINKS] as const;

/** Decides what happens to a batch whose POST ended with this error. */
export function judgeError(error: ShortlinkError, request: FailedRequest): Verdict {
  if (isOutcomeUnknown(error)) return { type: 'unknown' };
  if (PlanLimitError.isInstance(error)) return judgePlanLimit(error, request);
  if (!ApiError.isInstance(error)) return { type: 'unsent' };
  // The request that used this idempotency key before may have created the links.
  if (error.status === 409 || error.body?.code === 'idempotency_conflict') {
    return { type: 'unknown' };
  }
  if (isEntryError(error, request.hasOwnKey)) {
    if (request.hasDomain && isDomainError(error)) return { type: 'unsent' };
    return request.count > 1 ? { type: 'split' } : { type: 'failed' };
  }
  return { type: error.status === 422 ? 'failed' : 'unsent' };
}

/**
 * Whether an error is about entries of the batch or its size. With an idempotency key of the caller, 422 may also say that
 * another body used the key: then parts of the batch, which have other keys, could be created a second time.
 */
export function isEntryError(error: ApiError, hasOwnKey: boolean): boolean {
  if (error.body?.code === 'idempotency_conflict') return false;
  return error.status === 400 || error.status === 413 || (error.status === 422 && !hasOwnKey);
}

/** Whether the service refuses the `domain_id` that every batch of the run has. */
function isDomainError(error: ApiError): boolean {
  const { details = [] } = error.body ?? {};
  const isOther = details.some(({ index, field }) => index !== undefined || field !== 'domain_id');
  return details.length > 0 && !isOther;
}

/** Whether an error met while polling would meet the next request too, so that the run ends. */
export function endsRun(error: ShortlinkError): boolean {
  return ApiError.isInstance(error) && [401, 403, 429].includes(error.status);
}

/** Marks the entries that the error of a request names. Returns whether it names any, so that the others are worth a request. */
export function refuseEntries(batch: Batch<LinkInput>, hasKey: boolean, error: unknown): boolean {
  if (!ApiError.isInstance(error) || !isEntryError(error, hasKey)) return false;
  const { first, inputs, refused } = batch;
  const offsets = sentOffsets(batch);
  const reasons = new Map<number, string>();
  for (const { index = -1, field, message } of error.body?.details ?? []) {
    const offset = offsets[index];
    if (offset === undefined) continue;
    const reason = [field, message].filter(Boolean).join(': ') || error.message;
    reasons.set(offset, [reasons.get(offset), reason].filter(Boolean).join('; '));
  }
  // Where the others were refused before, the last one needs no name.
  const [only, ...others] = offsets;
  const isLast = only !== undefined && others.length === 0 && inputs.length > 1;
  if (reasons.size === 0 && error.body && isLast) reasons.set(only, error.message);
  for (const [offset, reason] of reasons) {
    refused.set(first + offset, { error: reason, cause: error });
  }
  return reasons.size > 0;
}

function judgePlanLimit(error: PlanLimitError, request: FailedRequest): Verdict {
  const { count, largestTaken, mayFill } = request;
  const { limit, used, allowed } = error;
  /** The number, where it is a whole number from 1 to `count - 1`. */
  const smaller = (value = 0) =>
    Number.isInteger(value) && value >= 1 && value < count ? value : undefined;
  // Without `limit`, a size that was taken before is not the reason, and a larger one may be.
  if (limit === 'batch_size' || (limit === undefined && count > largestTaken)) {
    const named = limit === undefined ? undefined : smaller(allowed);
    const size = named ?? PLAN_BATCH_SIZES.find((size) => size < count);
    if (size !== undefined) return { type: 'resized', size };
  }
  // Numbers that make no sense leave no room to fill.
  const hasRoom = (limit === undefined || limit === 'links') && used !== undefined && used >= 0;
  const room = hasRoom && mayFill ? smaller((allowed ?? used) - used) : undefined;
  return room === undefined ? { type: 'unsent' } : { type: 'filled', room };
}

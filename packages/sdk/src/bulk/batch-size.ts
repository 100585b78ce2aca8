import { ApiError, PlanLimitError } from '../errors/api-errors.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import { MAX_BATCH_LINKS, MAX_SYNC_BATCH_LINKS } from '../wire/limits.ts';

/** Batch sizes the spec lists for the plans ("Limits"), the endpoint's own maximum first. */
const PLAN_BATCH_SIZES = [MAX_BATCH_LINKS, 5_000, MAX_SYNC_BATCH_LINKS] as const;

/**
 * The batch size to go on with after a batch of `count` links was refused, or undefined where size is not, or can't
 * be, the reason. `largestTaken` is the largest batch the service took so far in this run.
 */
export function smallerBatchSize(
  error: ShortlinkError,
  count: number,
  largestTaken: number,
): number | undefined {
  if (ApiError.isInstance(error) && error.status === 413) {
    return count > 1 ? Math.floor(count / 2) : undefined;
  }
  if (!PlanLimitError.isInstance(error)) return undefined;
  const nextSize = PLAN_BATCH_SIZES.find((size) => size < count);
  if (error.limit === 'batch_size') return allowedSize(error.allowed, count) ?? nextSize;
  // The spec's 403 doesn't say which limit it is. A size that was taken before is not the reason; a new one may be.
  return error.limit === undefined && count > largestTaken ? nextSize : undefined;
}

function allowedSize(allowed: number | undefined, count: number): number | undefined {
  if (allowed === undefined || !Number.isInteger(allowed)) return undefined;
  return allowed >= 1 && allowed < count ? allowed : undefined;
}

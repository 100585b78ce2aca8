import { ApiError } from '../errors/api-errors.ts';
import { isOutcomeUnknown } from '../errors/outcome.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';

/**
 * What an error of a batch's POST means for the batch:
 * - `failed`: the service judged these links and created none; other batches may do better.
 * - `unknown`: the links may exist.
 * - `unsent`: nothing was created, and the next batch would meet the same error (key, permission, plan, quota, wrong
 *   address, service unreachable), so the run ends.
 */
export type RefusalFate = 'failed' | 'unknown' | 'unsent';

/** See {@link RefusalFate}. */
export function refusalFate(error: ShortlinkError): RefusalFate {
  if (isOutcomeUnknown(error)) return 'unknown';
  if (!ApiError.isInstance(error)) return 'unsent';
  // An idempotency key that is in use: the request that used it may have created the links.
  if (error.status === 409 || error.body?.code === 'idempotency_conflict') return 'unknown';
  return error.status === 400 || error.status === 413 || error.status === 422 ? 'failed' : 'unsent';
}

/** Whether an error met while polling would meet the next request too, so that the run ends. */
export function endsRun(error: ShortlinkError): boolean {
  return ApiError.isInstance(error) && [401, 403, 429].includes(error.status);
}

import { ApiError, ServerError } from './api-errors.ts';
import { ConnectionError, ResponseShapeError, TimeoutError } from './call-errors.ts';

/** 0: a redirect whose status a browser hides. 303: the result is at another address, so there is one. 408: the service gave up on a request that it had begun to read. */
const STATUSES_OF_UNKNOWN_OUTCOME: readonly number[] = [0, 303, 408];

/**
 * Whether the POST that failed with this error may have created its links all the same: the connection was lost after
 * sending, time ran out, the service failed in the middle, or its response could not be read. Every other error of this
 * package means that nothing was created.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  if (ConnectionError.isInstance(error) || TimeoutError.isInstance(error)) {
    return error.outcome === 'unknown';
  }
  // A 503 that says when to come back is sent before any work.
  if (ServerError.isInstance(error)) {
    return !(error.status === 503 && error.retryAfterMs !== undefined);
  }
  if (ApiError.isInstance(error)) return STATUSES_OF_UNKNOWN_OUTCOME.includes(error.status);
  return ResponseShapeError.isInstance(error);
}

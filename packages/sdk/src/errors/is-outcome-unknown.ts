import { ConnectionError } from './connection-error.ts';
import { ResponseShapeError } from './response-shape-error.ts';
import { ServerError } from './server-error.ts';
import { TimeoutError } from './timeout-error.ts';

/**
 * Whether the POST that failed with this error may have created its links all the same: the connection was lost after
 * sending, time ran out, the service failed in the middle, or its answer could not be read. Every other error of this
 * package means that nothing was created.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  if (ConnectionError.isInstance(error) || TimeoutError.isInstance(error)) {
    return error.outcome === 'unknown';
  }
  // A 503 that says when to come back refuses before any work (DESIGN section 3, the retry table).
  if (ServerError.isInstance(error)) {
    return !(error.status === 503 && error.retryAfterMs !== undefined);
  }
  return ResponseShapeError.isInstance(error);
}

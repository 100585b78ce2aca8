import type { ErrorBody } from '@shortlink/sdk/wire';
import type { ErrorHandler } from 'hono';
import { invalidRequest, Problem, unavailable } from '../domain/problem.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { StoreError, type StoreErrorReason } from '../store/store-error.ts';
import type { AppEnv } from './context.ts';
import { respondJson, SECURITY_HEADERS, setHeaders } from './respond.ts';

/**
 * Failures of the database that pass, and with which nothing was stored: 503 and `Retry-After`, at which clients send
 * again, also a POST. The others are faults of ours: 500. One of those is `outcome_unknown`, since a create that is
 * sent again after it could create twice.
 */
const PASSING: ReadonlySet<StoreErrorReason> = new Set<StoreErrorReason>([
  'busy',
  'full',
  'read_only',
  'unavailable',
  'closed',
]);

/** Answers what was thrown: a {@link Problem} as it says, anything else without its cause, which only the log gets. */
export function respondToError(logger: Logger | undefined, metrics: Metrics): ErrorHandler<AppEnv> {
  return (error, c) => {
    setHeaders(c, SECURITY_HEADERS);
    if (error instanceof Problem) {
      metrics.countRefusal(error.code);
      return respondJson(c, error.body, error.status, error.headers);
    }
    if (error instanceof StoreError && error.reason === 'invalid') {
      const problem = invalidRequest(
        'The request holds text that can not be stored, such as U+0000.',
      );
      metrics.countRefusal(problem.code);
      return respondJson(c, problem.body, problem.status, problem.headers);
    }
    const requestId = c.get('requestId');
    logger?.error({ err: error, request_id: requestId }, 'request failed');
    if (error instanceof StoreError) metrics.countStoreError(error.reason);
    if (error instanceof StoreError && PASSING.has(error.reason)) {
      const problem = unavailable();
      return respondJson(c, problem.body, problem.status, problem.headers);
    }
    const body: ErrorBody = {
      error: `Something went wrong on our side. Request id: ${requestId}.`,
      code: 'internal',
    };
    return respondJson(c, body, 500);
  };
}

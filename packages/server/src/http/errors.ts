import type { Context, ErrorHandler } from 'hono';
import { internal, invalidRequest, Problem, unavailable } from '../domain/problem.ts';
import type { Logger } from '../logger.ts';
import type { Metrics } from '../metrics/metrics.ts';
import { StoreError, type StoreErrorReason } from '../store/store-error.ts';
import type { AppEnv } from './context.ts';
import { respondJson, SECURITY_HEADERS, setHeaders } from './respond.ts';
import { type VisitorUrls, visitorResponse } from './visitors.ts';

/**
 * Failures of the database that pass, and with which nothing was stored: 503 and `Retry-After`, after which clients send the request
 * again, also a POST. The others are faults of the service: 500. `outcome_unknown` is one of those, because a create that is
 * sent again could create twice.
 */
const PASSING: ReadonlySet<StoreErrorReason> = new Set<StoreErrorReason>([
  'busy',
  'full',
  'read_only',
  'unavailable',
  'closed',
]);

export interface ErrorResponseDeps {
  logger: Logger | undefined;
  metrics: Metrics;
  visitorUrls: VisitorUrls;
}

/** The response to what was thrown: a {@link Problem} as it says, anything else without its cause, which only the log gets. */
export function respondToError(deps: ErrorResponseDeps): ErrorHandler<AppEnv> {
  return (error, c) => {
    if (error instanceof Problem) {
      deps.metrics.countRefusal(error.code);
      return respondToProblem(c, error, deps.visitorUrls);
    }
    if (error instanceof StoreError && error.reason === 'invalid') {
      const problem = invalidRequest(
        'The request holds text that can not be stored, such as U+0000.',
      );
      deps.metrics.countRefusal(problem.code);
      return respondToProblem(c, problem, deps.visitorUrls);
    }
    const requestId = c.get('requestId');
    deps.logger?.error({ err: error, request_id: requestId }, 'request failed');
    if (error instanceof StoreError) {
      deps.metrics.countStoreError(error.reason);
    }
    const isPassing = error instanceof StoreError && PASSING.has(error.reason);
    const problem = isPassing ? unavailable() : internal(requestId);
    return respondToProblem(c, problem, deps.visitorUrls);
  };
}

/** A page for a visitor where there is one, else JSON. */
export function respondToProblem(
  c: Context<AppEnv>,
  { status, body, headers }: Pick<Problem, 'status' | 'body' | 'headers'>,
  visitorUrls: VisitorUrls,
): Response {
  setHeaders(c, SECURITY_HEADERS);
  setHeaders(c, headers);
  return visitorResponse(c, status, visitorUrls) ?? respondJson(c, body, status);
}

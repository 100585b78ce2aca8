import { API_PREFIX, HEADERS } from '@shortlink/sdk/wire';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { Logger, OutageLog } from '../logger.ts';
import type { Metrics } from '../metrics/metrics.ts';
import type { Store } from '../store/store.ts';
import type { AppEnv } from './context.ts';
import { setHeader } from './respond.ts';

/** Longest `X-Request-Id` that is taken over from a client or proxy. */
const MAX_REQUEST_ID_LENGTH = 128;

/** What a taken over id is made of: it goes into a header and into the log. */
const REQUEST_ID = /^[\w\-=]+$/;

/** Gives each request an id, the sender's own where it sent a sound one. It is on every response and in every log line. */
export function requestId() {
  return createMiddleware<AppEnv>(async (c, next) => {
    const id = requestIdOf(c.req.header(HEADERS.requestId));
    c.set('requestId', id);
    setHeader(c, HEADERS.requestId, id);
    await next();
  });
}

/** The id that a request brought, or a new one. */
export function requestIdOf(given: string | undefined): string {
  const isSound =
    given !== undefined && given.length <= MAX_REQUEST_ID_LENGTH && REQUEST_ID.test(given);
  return isSound ? given : crypto.randomUUID();
}

/**
 * One line per response: ids, method, path without its query, status and time. API requests at `info`, redirects and
 * probes at `debug`, since a busy service has thousands of them a second.
 */
export function logRequests(serviceLogger: Logger) {
  // The fields below hold no secret, and looking for secrets in them takes longer than all the rest of the line.
  const logger = serviceLogger.child({}, { redact: [] });
  return createMiddleware<AppEnv>(async (c, next) => {
    const startedAt = performance.now();
    await next();
    const level = c.req.path.startsWith(`${API_PREFIX}/`) ? 'info' : 'debug';
    if (!logger.isLevelEnabled(level)) return;
    const caller = c.get('caller');
    logger[level](
      {
        request_id: c.get('requestId'),
        method: c.req.method,
        path: c.req.path,
        status: c.res.status,
        ms: Math.round((performance.now() - startedAt) * 10) / 10,
        ...(caller && { account_id: caller.accountId, key_id: caller.keyId }),
      },
      'request',
    );
  });
}

/** Logs the end of an outage with the first request that succeeds while the database works. */
export function endOutage(outage: OutageLog, store: Pick<Store, 'isHealthy'>) {
  return createMiddleware<AppEnv>(async (c, next) => {
    await next();
    if (outage.isFailing && c.res.status < 500 && store.isHealthy()) outage.succeeded();
  });
}

/** Methods that are counted under their own name; a client may send any other word. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Counts every response under the pattern of its route; what matched no route is `none`. */
export function measure(metrics: Metrics) {
  return createMiddleware(async (c, next) => {
    const startedAt = performance.now();
    await next();
    // The last handler that ran, even if others would match too.
    const path = routePath(c);
    const { method } = c.req;
    metrics.countRequest({
      route: path.includes('*') ? 'none' : path,
      method: METHODS.has(method) ? method : 'other',
      status: c.res.status,
      seconds: (performance.now() - startedAt) / 1_000,
    });
  });
}

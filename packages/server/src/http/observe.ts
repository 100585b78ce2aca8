import { API_PREFIX, HEADERS } from '@shortlink/sdk/wire';
import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { OutageLog } from '../logger.ts';
import type { AppEnv, AppOptions } from './context.ts';

/** An `X-Request-Id` that is taken over from a client or proxy: it goes into a header and into the log. */
const REQUEST_ID = /^[\w\-=]{1,128}$/;

/** Methods that are counted under their own name; a client may send any other word. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Gives a request an id, counts its response by route, and logs it without its query: redirects and probes, thousands a second, at `debug`. */
export function observe({ metrics, logger, store }: AppOptions, outage: OutageLog) {
  // The fields below hold no secret, and looking for secrets in them takes longer than all the rest of the line.
  const requestLogger = logger?.child({}, { redact: [] });
  return createMiddleware<AppEnv>(async (c, next) => {
    const startedAt = performance.now();
    const { method, path } = c.req;
    const request_id = requestIdOf(c.req.header(HEADERS.requestId));
    c.set('requestId', request_id);
    c.set('responseHeaders', { [HEADERS.requestId]: request_id });
    await next();
    const { status } = c.res;
    const ms = performance.now() - startedAt;
    // The last handler that ran, even if others would match too.
    const pattern = routePath(c);
    metrics.countRequest({
      route: pattern.includes('*') ? 'none' : pattern,
      method: METHODS.has(method) ? method : 'other',
      status,
      seconds: ms / 1_000,
    });
    // An outage ends with the first request that succeeds while the database works.
    if (outage.isFailing && status < 500 && store.isHealthy()) outage.succeeded();
    const level = path.startsWith(`${API_PREFIX}/`) ? 'info' : 'debug';
    if (requestLogger?.isLevelEnabled(level) !== true) return;
    const caller = c.get('caller');
    const ids = caller && { account_id: caller.accountId, key_id: caller.keyId };
    const rounded = Math.round(ms * 10) / 10;
    requestLogger[level]({ request_id, method, path, status, ms: rounded, ...ids }, 'request');
  });
}

export const requestIdOf = (given = '') => (REQUEST_ID.test(given) ? given : crypto.randomUUID());

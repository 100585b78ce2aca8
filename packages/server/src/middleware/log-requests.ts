import { API_PREFIX } from '@shortlink/sdk/wire';
import { createMiddleware } from 'hono/factory';
import type { Logger } from '../logger.ts';
import type { AppEnv } from './env.ts';

/**
 * One line per answer: ids, method, path without its query, status and time. API requests at `info`, redirects and
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

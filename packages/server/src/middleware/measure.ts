import { createMiddleware } from 'hono/factory';
import { routePath } from 'hono/route';
import type { Metrics } from '../metrics/metrics.ts';

/** Methods that are counted under their own name; a client may send any other word. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

/** Counts every answer under the pattern of its route; what matched no route is `none`. */
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

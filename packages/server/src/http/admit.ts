import { HEADERS } from '@shortlink/sdk/wire';
import { createMiddleware } from 'hono/factory';
import { rateLimitHeaders, type WindowState } from '../domain/limits.ts';
import { Problem, rateLimited } from '../domain/problem.ts';
import { type Logger, OutageLog } from '../logger.ts';
import type { Store } from '../store/store.ts';
import type { CallerEnv } from './context.ts';
import { type HeaderContext, setHeader } from './respond.ts';

/** Counts the request against the plan's windows, or rejects it with 429. One that then fails through our fault is given back. */
export function admit(
  store: Pick<Store, 'admit' | 'refund'>,
  clock: () => number,
  logger: Logger | undefined,
) {
  const refundLog = new OutageLog({ logger, what: 'refund' });
  return createMiddleware<CallerEnv>(async (c, next) => {
    const caller = c.get('caller');
    const now = clock();
    const admission = await store.admit(caller, now);
    setRateLimitHeaders(c, admission.windows, now);
    if (!admission.admitted) throw rateLimited(admission.refusedBy, now);
    await next();
    if (c.res.status < 500 || (c.error instanceof Problem && c.error.isOfCaller)) return;
    await store.refund(caller, now).then(
      () => refundLog.succeeded(),
      (error: unknown) => refundLog.failed(error, { request_id: c.get('requestId') }),
    );
  });
}

export function setRateLimitHeaders(
  c: HeaderContext,
  windows: readonly WindowState[],
  now: number,
): void {
  const headers = rateLimitHeaders(windows, now);
  if (headers === undefined) return;
  setHeader(c, HEADERS.rateLimitPolicy, headers.policy);
  setHeader(c, HEADERS.rateLimit, headers.state);
}

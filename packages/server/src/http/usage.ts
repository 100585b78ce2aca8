import type { Context } from 'hono';
import { rateLimitHeaders, windowsAt } from '../domain/limits.ts';
import { tooManyAtOnce, tooManyUsageRequests } from '../domain/problem.ts';
import { gateForEach } from '../gate.ts';
import { type AppOptions, type CallerEnv, respondJson } from './context.ts';

/** Each reading goes through the history of every key. */
const MAX_PER_MINUTE = 60;

/** 429 when an account reads its usage too often. Each instance counts for itself. */
function readingCounter() {
  const counts = new Map<string, number>();
  let endsAt = 0;
  return (accountId: string, now: number): void => {
    const [minute] = windowsAt(now);
    if (minute.endsAt !== endsAt) counts.clear();
    endsAt = minute.endsAt;
    const count = (counts.get(accountId) ?? 0) + 1;
    if (count > MAX_PER_MINUTE) throw tooManyUsageRequests(MAX_PER_MINUTE, endsAt, now);
    counts.set(accountId, count);
  };
}

/** `GET /api/v1/usage`. It counts against no quota, so that it can be read when a quota is exhausted. */
export function getUsage(deps: AppOptions) {
  const busy = () => tooManyAtOnce('usage requests');
  const inTurn = gateForEach({ slots: 1, busy });
  const countReading = readingCounter();
  return async (c: Context<CallerEnv>): Promise<Response> => {
    const { accountId, permissions } = c.get('caller');
    countReading(accountId, deps.now());
    const { now, top_links, ...rest } = await inTurn(accountId, async () => {
      const now = deps.now();
      return { now, ...(await deps.store.usage(accountId, now)) };
    });
    const usage = { ...rest, features: ['idempotency', 'lookup'] };
    const windows = windowsAt(now).map((window) => ({ ...window, ...usage.requests[window.name] }));
    Object.assign(c.get('responseHeaders'), rateLimitHeaders(windows, now));
    // A key that may only create links, such as one in a CI job, doesn't show where the links of others lead.
    const shown = permissions.includes('analytics:read') ? { ...usage, top_links } : usage;
    return respondJson(c, shown);
  };
}

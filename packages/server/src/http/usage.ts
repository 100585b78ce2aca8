import type { Usage } from '@shortlink/sdk/wire';
import type { Context } from 'hono';
import { createMiddleware } from 'hono/factory';
import { WINDOW_NAMES, type WindowState, windowsAt } from '../domain/limits.ts';
import { tooManyUsageRequests } from '../domain/problem.ts';
import { setRateLimitHeaders } from './admit.ts';
import type { CallerEnv, RouteDeps } from './context.ts';
import { respondJson } from './respond.ts';

/** Each reading goes through the history of every key. */
const MAX_PER_MINUTE = 60;

/** 429 when an account reads its usage too often. Each instance counts for itself. */
export function limitUsageRequests(clock: () => number) {
  const counts = new Map<string, number>();
  let endsAt = 0;
  return createMiddleware<CallerEnv>(async (c, next) => {
    const now = clock();
    const [minute] = windowsAt(now);
    if (minute.endsAt !== endsAt) counts.clear();
    endsAt = minute.endsAt;
    const { accountId } = c.get('caller');
    const count = (counts.get(accountId) ?? 0) + 1;
    if (count > MAX_PER_MINUTE) {
      throw tooManyUsageRequests(MAX_PER_MINUTE, Math.max(1, Math.ceil((endsAt - now) / 1_000)));
    }
    counts.set(accountId, count);
    await next();
  });
}

/** What this service offers beyond creating links and polling jobs. */
const FEATURES = ['idempotency', 'lookup'];

/** `GET /api/v1/usage`. It counts against no quota, so that it can be read when a quota is exhausted. */
export function getUsage(deps: Pick<RouteDeps, 'store' | 'now'>) {
  return async (c: Context<CallerEnv>): Promise<Response> => {
    const { accountId, permissions } = c.get('caller');
    const now = deps.now();
    const { top_links, ...rest } = await deps.store.usage(accountId, now);
    const usage = { ...rest, features: FEATURES };
    setRateLimitHeaders(c, windowsOf(usage), now);
    // A key that may only create links, such as one in a CI job, doesn't show where the links of others lead.
    const shown = permissions.includes('analytics:read') ? { ...usage, top_links } : usage;
    return respondJson(c, shown);
  };
}

function windowsOf({ requests }: Usage): WindowState[] {
  return WINDOW_NAMES.map((name) => {
    const { limit, used, resets_at } = requests[name];
    return { name, limit, used, endsAt: Date.parse(resets_at) };
  });
}

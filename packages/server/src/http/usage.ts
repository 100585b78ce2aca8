import type { Usage } from '@shortlink/sdk/wire';
import type { Context } from 'hono';
import { WINDOW_NAMES, type WindowState } from '../domain/windows.ts';
import { setRateLimitHeaders } from './admit.ts';
import type { CallerEnv, RouteDeps } from './context.ts';
import { respondJson } from './respond.ts';

/** `GET /api/v1/usage` (addition, DESIGN section 2). Counts against no quota, so it can be asked at any time. */
export function getUsage(deps: Pick<RouteDeps, 'store' | 'now'>) {
  return async (c: Context<CallerEnv>): Promise<Response> => {
    const now = deps.now();
    const usage = await deps.store.usage(c.get('caller').accountId, now);
    setRateLimitHeaders(c, windowsOf(usage), now);
    return respondJson(c, usage);
  };
}

function windowsOf({ requests }: Usage): WindowState[] {
  return WINDOW_NAMES.map((name) => {
    const { limit, used, resets_at } = requests[name];
    return { name, limit, used, endsAt: Date.parse(resets_at) };
  });
}

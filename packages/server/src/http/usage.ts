import { setImmediate } from 'node:timers/promises';
import type { Context } from 'hono';
import { rateLimitHeaders, windowsAt } from '../domain/limits.ts';
import { tooManyUsageRequests } from '../domain/problem.ts';
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
  const readUsage = oneReadingAtATime(async (accountId) => {
    const now = deps.now();
    return { now, ...(await deps.store.usage(accountId, now)) };
  });
  const countReading = readingCounter();
  return async (c: Context<CallerEnv>): Promise<Response> => {
    const { accountId, permissions } = c.get('caller');
    countReading(accountId, deps.now());
    const { now, top_links, ...rest } = await readUsage(accountId);
    const usage = { ...rest, features: ['idempotency', 'lookup'] };
    const windows = windowsAt(now).map((window) => ({ ...window, ...usage.requests[window.name] }));
    Object.assign(c.get('responseHeaders'), rateLimitHeaders(windows, now));
    // A key that may only create links, such as one in a CI job, doesn't show where the links of others lead.
    const shown = permissions.includes('analytics:read') ? { ...usage, top_links } : usage;
    return respondJson(c, shown);
  };
}

/** Reads an account once at a time. All who ask meanwhile share the next reading: the one that runs may miss what was acknowledged to them. */
function oneReadingAtATime<T>(read: (accountId: string) => Promise<T>) {
  const readings = new Map<string, { hasBegun: boolean; result: Promise<T> }>();
  return (accountId: string): Promise<T> => {
    const last = readings.get(accountId);
    if (last?.hasBegun === false) return last.result;
    const begin = async () => {
      await last?.result.catch(() => undefined);
      // An engine that responds at once would leave nobody time to ask meanwhile: those whose requests are here by now share it too.
      await setImmediate();
      reading.hasBegun = true;
      return read(accountId);
    };
    const result = begin().finally(() => {
      if (readings.get(accountId) === reading) readings.delete(accountId);
    });
    const reading = { hasBegun: false, result };
    readings.set(accountId, reading);
    return result;
  };
}

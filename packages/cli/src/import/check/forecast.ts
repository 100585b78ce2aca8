import {
  ApiError,
  MAX_BATCH_LINKS,
  MAX_SYNC_BATCH_LINKS,
  type RequestOptions,
  ResponseShapeError,
  ShortlinkError,
  type Usage,
} from '@shortlink/sdk';
import type { Forecast, ImportDeps, ImportSettings } from '../types.ts';

const USAGE_TIMEOUT_MS = 10_000;

/** How often a job is polled, as a rule of thumb. */
const POLLS_PER_JOB = 2;

const MINUTE_MS = 60_000;

/**
 * Statuses that say that there is no such endpoint, or that the key may not use it. Any other error says nothing of what the service
 * offers. That the account is disabled says that it would take no link either.
 */
const NOT_OFFERED: readonly number[] = [400, 403, 404, 405, 406, 410, 501];

/**
 * What the account has left, and what the service offers; undefined where it has no such endpoint. Throws a ShortlinkError when it can't be
 * known: without a look-up that the service has, links would be created twice.
 */
export async function retrieveUsage({ client, signal }: ImportDeps, more?: RequestOptions) {
  const options = { signal, timeoutMs: USAGE_TIMEOUT_MS, ...more };
  const retrieve = () => client.usage.retrieve(options);
  let isService = false;
  try {
    const usage = await retrieve().catch(async (page: unknown) => {
      if (!isPage(page)) throw page;
      // No job has this id. The login of a network, which answers in place of the service, has a page for that too.
      await client.jobs.retrieve(crypto.randomUUID(), options).catch((error: unknown) => {
        isService = ApiError.isInstance(error) && error.body !== undefined;
      });
      return await retrieve();
    });
    // An object that says nothing may be that of a proxy, or of a service in trouble.
    const isBlank = usage.features === undefined && usage.plan === '' && usage.links.used === 0;
    return isBlank ? await retrieve() : usage;
  } catch (error) {
    if (isService && isPage(error)) return undefined;
    // In a dry run without an account, nobody is asked.
    const isOffered =
      ApiError.isInstance(error) &&
      (!NOT_OFFERED.includes(error.status) || error.code === 'account_disabled');
    if (isOffered || (ShortlinkError.isInstance(error) && !ApiError.isInstance(error))) throw error;
    return undefined;
  }
}

/** Whether somebody has answered like a website, which may show a page at every address that it has nothing for. */
function isPage(error: unknown): boolean {
  const isRedirect = ApiError.isInstance(error) && error.status >= 300 && error.status < 400;
  return isRedirect || ResponseShapeError.isInstance(error);
}

/** Announces what creating `links` links takes. */
export function planSending(
  links: number,
  usage: Usage | undefined,
  settings: ImportSettings,
  { wallClock, onEvent }: ImportDeps,
): Forecast {
  const { used = 0, limit = null } = usage?.links ?? {};
  const room = limit === null ? undefined : Math.max(0, limit - used);
  const wanted = Math.min(links, settings.limit ?? links, room ?? links);
  const size = settings.batchSize === 'auto' ? MAX_BATCH_LINKS : settings.batchSize;
  const batchSize = Math.max(1, Math.min(size, usage?.batch_size ?? size));
  const batches = Math.ceil(wanted / batchSize);
  const isJob = Math.min(batchSize, wanted) > MAX_SYNC_BATCH_LINKS;
  const requests = batches * (isJob ? 1 + POLLS_PER_JOB : 1);
  const paces = [settings.requestsPerMinute, usage?.requests.minute.limit];
  const known = paces.filter((pace) => typeof pace === 'number');
  const forecast: Forecast = {
    links: wanted,
    unsent: links - wanted,
    isShort: room !== undefined && room < Math.min(links, settings.limit ?? links),
    batchSize,
    requests,
    room,
    durationMs: undefined,
    ...(usage && timesOf(requests, settings.requestsPerMinute ?? Infinity, usage, wallClock())),
    plan: usage?.plan,
    requestsPerMinute: known.length === 0 ? undefined : Math.min(...known),
  };
  onEvent({ type: 'forecast', forecast });
  return forecast;
}

/** The time until the last window begins that so many requests need, and the longest wait for one window in it. */
function timesOf(requests: number, requestsPerMinute: number, usage: Usage, now: number) {
  const pace = (requests / requestsPerMinute) * MINUTE_MS;
  const waits = Object.entries(WINDOW_MS).map(([name, windowMs]) => {
    const { used, limit, resets_at } = usage.requests[name as keyof typeof WINDOW_MS];
    const beyond = limit === null ? 0 : requests - Math.max(0, limit - used);
    if (beyond <= 0 || limit === null || limit <= 0) return { total: 0, longest: 0 };
    const untilReset = Math.max(0, (Date.parse(resets_at) || now) - now);
    const more = Math.ceil(beyond / limit) - 1;
    return { total: untilReset + more * windowMs, longest: more > 0 ? windowMs : untilReset };
  });
  return {
    durationMs: Math.max(pace, ...waits.map(({ total }) => total)),
    waitMs: Math.max(...waits.map(({ longest }) => longest)),
  };
}

const WINDOW_MS = {
  minute: MINUTE_MS,
  day: 24 * 60 * MINUTE_MS,
  month: 30 * 24 * 60 * MINUTE_MS,
} as const satisfies Record<keyof Usage['requests'], number>;

import { HEADERS, type PlanLimits } from '@shortlink/sdk/wire';

export type WindowName = 'minute' | 'day' | 'month';

/** A fixed window in UTC: it holds `startsAt <= now < endsAt`, in milliseconds since the epoch. */
export interface RequestWindow {
  name: WindowName;
  startsAt: number;
  endsAt: number;
}

/** One request window as it stands after a request was admitted or rejected. */
export interface WindowState extends RequestWindow {
  /** `null` is unlimited. */
  limit: number | null;
  used: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** The minute, the UTC day and the UTC calendar month that `now` falls in, in the order in which they are shown. */
export function windowsAt(now: number): [RequestWindow, RequestWindow, RequestWindow] {
  const minute = Math.floor(now / MINUTE_MS) * MINUTE_MS;
  const day = startOfDay(now);
  return [
    { name: 'minute', startsAt: minute, endsAt: minute + MINUTE_MS },
    { name: 'day', startsAt: day, endsAt: day + DAY_MS },
    { name: 'month', startsAt: startOfMonth(now), endsAt: startOfMonth(now, 1) },
  ];
}

export const startOfDay = (now: number) => Math.floor(now / DAY_MS) * DAY_MS;

export function startOfMonth(now: number, monthsAfter = 0): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsAfter);
}

export const requestLimit = (limits: PlanLimits, window: WindowName) =>
  limits[`requests_per_${window}`];

export function windowState(window: RequestWindow, limits: PlanLimits, used: number): WindowState {
  return { ...window, limit: requestLimit(limits, window.name), used };
}

/** The windows by their ends, the last one first: a request that waits for that end finds no other window full. Windows that end together keep their order. */
export function lastToEnd<W extends { endsAt: number }>(windows: readonly W[]): W[] {
  return windows.toSorted((a, b) => b.endsAt - a.endsAt);
}

/** The window that refuses one more request: of all that are full, the {@link lastToEnd}. `undefined` when the request may pass. */
export function refusingWindow(windows: readonly WindowState[]): WindowState | undefined {
  return lastToEnd(windows).find(({ limit, used }) => limit !== null && used >= limit);
}

/** Whether `adding` more of a resource would pass what the plan allows. `null` is unlimited. */
export function exceeds(allowed: number | null, used: number, adding: number): boolean {
  return allowed !== null && used + adding > allowed;
}

/** `RateLimit-Policy` and `RateLimit` (IETF draft-ietf-httpapi-ratelimit-headers-11), without unlimited windows; no headers when all are. */
export function rateLimitHeaders(windows: readonly WindowState[], now: number) {
  const policy: string[] = [];
  const state: string[] = [];
  for (const { name, limit, used, startsAt, endsAt } of windows) {
    if (limit === null) continue;
    const left = Math.max(0, limit - used);
    const seconds = Math.max(0, Math.ceil((endsAt - now) / 1_000));
    policy.push(`"${name}";q=${limit};w=${(endsAt - startsAt) / 1_000}`);
    state.push(`"${name}";r=${left};t=${seconds}`);
  }
  if (policy.length === 0) return undefined;
  return { [HEADERS.rateLimitPolicy]: policy.join(', '), [HEADERS.rateLimit]: state.join(', ') };
}

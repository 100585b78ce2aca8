/** Request windows, in the order they are checked and shown. */
export const WINDOW_NAMES = ['minute', 'day', 'month'] as const;
export type WindowName = (typeof WINDOW_NAMES)[number];

/** A fixed window in UTC: it holds `startsAt <= now < endsAt`, in milliseconds since the epoch. */
export interface RequestWindow {
  name: WindowName;
  startsAt: number;
  endsAt: number;
}

/** One request window as it stands after a request was admitted or rejected. */
export interface WindowState {
  name: WindowName;
  /** `null` is unlimited. */
  limit: number | null;
  used: number;
  /** When the window ends, in milliseconds since the epoch. */
  endsAt: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/**
 * The clock minute, the UTC day and the UTC calendar month that `now` falls in, in the
 * order of {@link WINDOW_NAMES}. The epoch has no leap seconds, so minutes and days start at exact multiples.
 */
export function windowsAt(now: number): [RequestWindow, RequestWindow, RequestWindow] {
  const minute = Math.floor(now / MINUTE_MS) * MINUTE_MS;
  const day = startOfDay(now);
  return [
    { name: 'minute', startsAt: minute, endsAt: minute + MINUTE_MS },
    { name: 'day', startsAt: day, endsAt: day + DAY_MS },
    { name: 'month', startsAt: startOfMonth(now), endsAt: startOfMonth(now, 1) },
  ];
}

/** Midnight UTC at or before `now`, `daysBefore` days earlier. */
export function startOfDay(now: number, daysBefore = 0): number {
  return (Math.floor(now / DAY_MS) - daysBefore) * DAY_MS;
}

/** The first instant of the UTC month of `now`, `monthsAfter` months later. */
export function startOfMonth(now: number, monthsAfter = 0): number {
  const date = new Date(now);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + monthsAfter);
}

/** The UTC day of `now` as `YYYY-MM-DD`. */
export function dateOf(now: number): string {
  return new Date(now).toISOString().slice(0, 10);
}

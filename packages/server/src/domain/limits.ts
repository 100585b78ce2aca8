import type { PlanLimits } from '@shortlink/sdk/wire';
import type { RequestWindow, WindowName, WindowState } from './windows.ts';

/** The plan's limit of requests in a window; `null` is unlimited. */
export function requestLimit(limits: PlanLimits, window: WindowName): number | null {
  switch (window) {
    case 'minute':
      return limits.requests_per_minute;
    case 'day':
      return limits.requests_per_day;
    case 'month':
      return limits.requests_per_month;
  }
}

/** A window with what the plan allows in it and what was used. */
export function windowState(window: RequestWindow, limits: PlanLimits, used: number): WindowState {
  return {
    name: window.name,
    limit: requestLimit(limits, window.name),
    used,
    endsAt: window.endsAt,
  };
}

/**
 * The window that refuses one more request: of all that are full, the one that ends last, so that waiting for it
 * always succeeds (waiting out the minute would run into the full day). `undefined` when the request may pass.
 */
export function refusingWindow(windows: readonly WindowState[]): WindowState | undefined {
  let refusing: WindowState | undefined;
  for (const window of windows) {
    const isFull = window.limit !== null && window.used >= window.limit;
    if (isFull && (refusing === undefined || window.endsAt > refusing.endsAt)) refusing = window;
  }
  return refusing;
}

/** Whether `adding` more of a resource would pass what the plan allows. `null` is unlimited. */
export function exceeds(allowed: number | null, used: number, adding: number): boolean {
  return allowed !== null && used + adding > allowed;
}

/**
 * Whether a batch has more links than the plan allows in one request (403 `batch_size`). The endpoint's
 * own maximum of 10,000 is a matter of validation (400), whatever the plan.
 */
export function exceedsBatchSize(limits: PlanLimits, links: number): boolean {
  return exceeds(limits.batch_size, 0, links);
}

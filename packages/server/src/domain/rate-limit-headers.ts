import { type WindowState, windowsAt } from './windows.ts';

/**
 * Values of `RateLimit-Policy` and `RateLimit` (IETF draft-ietf-httpapi-ratelimit-headers-11), structured fields:
 * `"minute";q=60;w=60` and `"minute";r=12;t=34`. Unlimited windows are left out; `undefined` when all are.
 */
export function rateLimitHeaders(
  windows: readonly WindowState[],
  now: number,
): { policy: string; state: string } | undefined {
  const policy: string[] = [];
  const state: string[] = [];
  for (const window of windows) {
    if (window.limit === null) continue;
    const left = Math.max(0, window.limit - window.used);
    const seconds = Math.max(0, Math.ceil((window.endsAt - now) / 1000));
    policy.push(`"${window.name}";q=${window.limit};w=${windowSeconds(window)}`);
    state.push(`"${window.name}";r=${left};t=${seconds}`);
  }
  if (policy.length === 0) return undefined;
  return { policy: policy.join(', '), state: state.join(', ') };
}

/** Length of the window in seconds; calendar months differ. */
function windowSeconds(window: WindowState): number {
  const bounds = windowsAt(window.endsAt - 1).find(({ name }) => name === window.name);
  return bounds === undefined ? 0 : (bounds.endsAt - bounds.startsAt) / 1000;
}

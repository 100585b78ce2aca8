import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { RedirectCache, UNKNOWN_CODE_MAX_AGE_MS } from '../src/store/redirect-cache.ts';
import type { Redirect } from '../src/store/store.ts';

// A time service sets the clock of a machine back, and nothing waits until the old time has come again.

const YEAR_MS = 365 * 86_400_000;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

test('a code that led nowhere is looked up again', async () => {
  const links = new Map<string, Redirect>();
  const cache = new RedirectCache({ findRedirect: async (code) => links.get(code) });
  expect(await cache.find('Xk3pQ9z')).toBeUndefined();
  const link: Redirect = {
    target_url: 'https://example.com/',
    redirect_type: 302,
    is_active: true,
    hostname: null,
    owners: [],
  };
  links.set('Xk3pQ9z', link);
  vi.setSystemTime(Date.now() - YEAR_MS);
  vi.advanceTimersByTime(UNKNOWN_CODE_MAX_AGE_MS);
  expect(await cache.find('Xk3pQ9z')).toEqual(link);
});

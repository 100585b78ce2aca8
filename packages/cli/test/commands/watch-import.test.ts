import { ConnectionError, RateLimitError } from '@shortlink/sdk';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { watchImports } from '../../src/commands/import/watch-import.ts';
import { Context } from '../../src/context.ts';
import { testIo } from '../test-io.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const request = { id: '1', method: 'POST', path: '/api/v1/links/batch', attempt: 1 } as const;

async function watched() {
  const { io, stderr } = testIo();
  const limits = { requestsPerMinute: undefined, maxWait: 90_000 };
  const watch = await watchImports(limits, new Context(io, [], {}));
  watch.begin('links.csv').onEvent({ type: 'sending', existing: 0, links: 100 });
  return { hooks: watch.hooks, stderr };
}

test('a retry after a rate limit, which is announced twice, is shown as a rate limit', async () => {
  const { hooks, stderr } = await watched();
  const headers = new Headers();
  const retryAfterMs = 37_000;
  const init = { message: 'slow down', status: 429, body: undefined, headers, retryAfterMs };
  hooks.onCooldown?.({ id: '1', waitMs: 37_000, retryAfterMs });
  vi.advanceTimersByTime(1);
  hooks.onRetry?.({ ...request, waitMs: 37_000, error: new RateLimitError(init) });
  vi.advanceTimersByTime(5_000);
  expect(stderr()).toBe('0 / 100 rows, rate limit: next in 0:33\n');
});

test('a retry after any other error is shown with that error', async () => {
  const { hooks, stderr } = await watched();
  const error = new ConnectionError('no response', { outcome: 'not-sent' });
  hooks.onRetry?.({ ...request, waitMs: 37_000, error });
  vi.advanceTimersByTime(5_000);
  expect(stderr()).toBe('0 / 100 rows, trying again in 0:32, no response\n');
});

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { FakeClock } from './fake-clock.ts';
import { makeClient } from './make-client.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Sends a batch with a title of this length, which is never answered. Returns whether it still runs. */
function hang(title: string, timeoutMs: number) {
  const { links } = makeClient(
    { fetch: () => new Promise(() => {}), timeoutMs, maxRetries: 0 },
    { clock: new FakeClock() },
  );
  let end: unknown;
  links.createBatch({ links: [{ target_url: 'https://example.com/', title }] }).catch((error) => {
    end = error;
  });
  return () => end;
}

it.each([
  ['', 30_000],
  ['x'.repeat(65_000), 30_000],
  ['x'.repeat(65_536), 31_000],
  // 2 bytes each.
  ['ü'.repeat(65_536), 32_000],
  ['x'.repeat(9_400_000), 30_000 + 143_000],
])('the time of an attempt grows with its body: case %#', async (title, limitMs) => {
  const end = hang(title, 30_000);
  await vi.advanceTimersByTimeAsync(limitMs - 1);
  expect(end()).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  expect(end()).toMatchObject({
    name: 'TimeoutError',
    outcome: 'unknown',
    timeoutMs: limitMs,
    message: `No complete response within ${limitMs} ms`,
  });
});

it('0 stays no limit', async () => {
  const end = hang('x'.repeat(1_000_000), 0);
  await vi.advanceTimersByTimeAsync(10 * 86_400_000);
  expect(end()).toBeUndefined();
});

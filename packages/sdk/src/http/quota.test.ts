import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Quota } from './quota.ts';
import type { QuotaWindow } from './rate-limit-header.ts';

const MAX_WAIT_MS = 90_000;

function setUp() {
  const clock = { time: 1_000_000, now: () => clock.time };
  const quota = new Quota(clock);
  const finish = (...windows: QuotaWindow[]) => quota.finish(clock.time, windows);
  return { clock, quota, finish, wait: () => quota.wait(MAX_WAIT_MS) };
}

const minute = (remaining: number, resetMs: number): QuotaWindow => ({
  name: 'minute',
  remaining,
  resetMs,
});

describe('Quota', () => {
  it('holds nothing back before it knows anything', () => {
    const { quota, wait } = setUp();
    for (let sent = 0; sent < 100; sent += 1) {
      expect(wait()).toBeUndefined();
      quota.take();
    }
  });

  it('lets the rest of a window go out at once, and no more', () => {
    const { quota, clock, finish, wait } = setUp();
    quota.take();
    finish(minute(2, 30_000));
    quota.take();
    expect(wait()).toBeUndefined();
    quota.take();
    // An answer may tell that there is more.
    expect(wait()).toEqual({ waitMs: 50, isUsedUp: false });
    finish(minute(1, 30_000));
    finish(minute(0, 30_000));
    expect(wait()).toEqual({ waitMs: 30_000, isUsedUp: true });
    clock.time += 29_999;
    expect(wait()).toEqual({ waitMs: 1, isUsedUp: true });
    clock.time += 1;
    expect(wait()).toBeUndefined();
  });

  it('sends one request to ask for the next window', () => {
    const { quota, clock, finish, wait } = setUp();
    quota.take();
    finish(minute(0, 10_000));
    clock.time += 10_000;
    expect(wait()).toBeUndefined();
    quota.take();
    expect(wait()).toEqual({ waitMs: 50, isUsedUp: false });
    finish();
    expect(wait()).toBeUndefined();
    quota.take();
    finish(minute(2, 59_000));
    quota.take();
    expect(wait()).toBeUndefined();
  });

  it('is not misled by answers that overtake each other, or come from the window before', () => {
    const { quota, clock, finish, wait } = setUp();
    for (let sent = 0; sent < 3; sent += 1) quota.take();
    finish(minute(1, 30_000));
    finish(minute(2, 30_400));
    expect(wait()).toMatchObject({ isUsedUp: false });
    clock.time += 31_000;
    quota.take();
    finish(minute(2, 59_000));
    finish(minute(0, 0));
    expect(wait()).toBeUndefined();
  });

  it('passes over an answer from the window before that comes after one of this window', () => {
    const { quota, clock, wait } = setUp();
    const slow = quota.take();
    clock.time += 1_000;
    const quick = quota.take();
    clock.time += 900;
    quota.finish(quick, [minute(3, 60_000)]);
    clock.time += 1_100;
    quota.finish(slow, [minute(5, 1_000)]);
    // The window of the slow one is over by now: that of the quick one isn't.
    clock.time += 1_000;
    for (let sent = 0; sent < 3; sent += 1) {
      expect(wait()).toBeUndefined();
      quota.take();
    }
    expect(wait()).toEqual({ waitMs: 50, isUsedUp: false });
  });

  it('leaves windows that end too late to the service', () => {
    const { quota, clock, finish, wait } = setUp();
    quota.take();
    finish({ name: 'day', remaining: 0, resetMs: MAX_WAIT_MS + 1 });
    expect(wait()).toBeUndefined();
    quota.take();
    clock.time += 10_001;
    finish({ name: 'day', remaining: 0, resetMs: 80_000 });
    expect(wait()).toEqual({ waitMs: 80_000, isUsedUp: true });
  });
});

it('never lets more out than a service takes that counts in clock minutes, and misses no minute', () => {
  const scenario = fc.record({
    size: fc.integer({ min: 1, max: 8 }),
    startMs: fc.integer({ min: 0, max: 59_999 }),
    latencies: fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1, maxLength: 10 }),
    concurrency: fc.integer({ min: 1, max: 6 }),
  });
  fc.assert(
    fc.property(scenario, ({ size, startMs, latencies, concurrency }) => {
      const clock = { time: startMs, now: () => clock.time };
      const quota = new Quota(clock);
      const counts = new Map<number, number>();
      let inFlight: { sentAt: number; endsAt: number; windows: QuotaWindow[] }[] = [];
      let sent = 0;
      for (; clock.time < 5 * 60_000; clock.time += 10) {
        for (const { sentAt, windows } of inFlight.filter(({ endsAt }) => endsAt <= clock.time)) {
          quota.finish(sentAt, windows);
        }
        inFlight = inFlight.filter(({ endsAt }) => endsAt > clock.time);
        // The first request goes alone, as the first batch of a bulk run does.
        const slots = sent <= 1 ? 1 : concurrency;
        while (inFlight.length < slots && quota.wait(MAX_WAIT_MS) === undefined) {
          const at = Math.floor(clock.time / 60_000);
          const used = (counts.get(at) ?? 0) + 1;
          expect(used).toBeLessThanOrEqual(size);
          counts.set(at, used);
          const sentAt = quota.take();
          const resetMs = Math.ceil(((at + 1) * 60_000 - clock.time) / 1000) * 1000;
          const endsAt = clock.time + (latencies[sent % latencies.length] ?? 1);
          const windows = [{ name: 'minute', remaining: size - used, resetMs }];
          inFlight.push({ sentAt, endsAt, windows });
          sent += 1;
        }
      }
      const [, ...whole] = [...counts.entries()].sort(([a], [b]) => a - b);
      expect(whole.map(([, used]) => used)).toEqual([size, size, size, size]);
    }),
    {
      numRuns: 200,
      // An answer of the minute before took the end of this one with it.
      examples: [[{ size: 6, startMs: 56_060, latencies: [2981, 941], concurrency: 4 }]],
    },
  );
});

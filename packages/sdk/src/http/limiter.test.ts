import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MAX_WAIT_MS, minute, setUp } from '../../test/stopped-limiter.ts';
import type { Turn } from './limiter.ts';
import type { QuotaWindow } from './response-headers.ts';

describe('the pause after a 429', () => {
  it('lasts as long as it was asked to', async () => {
    const { clock, pause, ask, take } = setUp();
    pause(1000, 1000);
    clock.time += 999;
    expect(await ask()).toBe(1);
    clock.time += 1;
    await take();
  });

  it('is never made shorter, and reported when it is made longer', async () => {
    const { pause, ask, pauses } = setUp();
    pause(1000, 1000);
    pause(400);
    expect(await ask()).toBe(1000);
    pause(1400, 1400);
    expect(await ask()).toBe(1400);
    expect(pauses.map(({ waitMs }) => waitMs)).toEqual([1000, 1400]);
  });

  it('fails at once where it must not be waited for', async () => {
    const { limiter, pause, onPause } = setUp();
    pause(1000.4, 1000);
    await expect(
      limiter.turn({ failsAtLimit: true, maxRetryAfterMs: MAX_WAIT_MS, onPause }),
    ).rejects.toMatchObject({
      retryAfterMs: 1001,
    });
  });
});

describe('the pace', () => {
  it('spreads requests evenly, stepped to just before and just after each turn', async () => {
    const { clock, ask, send } = setUp(60);
    await send();
    clock.time += 949;
    expect(await ask()).toBe(1);
    clock.time += 1;
    await send();
  });

  it('makes up for late timers, so that a run loses no time to them', async () => {
    const { clock, ask, limiter } = setUp(600);
    const startedAt = clock.time;
    for (let sent = 0; sent < 300; ) {
      const turn = await ask();
      // Each timer fires 3 ms late.
      if (typeof turn === 'number') clock.time += turn + 3;
      else {
        limiter.finish(turn);
        sent += 1;
      }
    }
    expect(clock.time - startedAt).toBeLessThan(300 * 100 * 1.01);
  });

  it('starts none until 60 s after the one N before was answered', async () => {
    const { clock, ask, take, send, limiter } = setUp(2);
    const startedAt = clock.time;
    const first = await take();
    clock.time += 5000;
    limiter.finish(first);
    clock.time += Number(await ask());
    await send();
    expect(clock.time + Number(await ask()) - startedAt).toBe(65_000);
  });

  it('does not wait for ever for one that is never answered', async () => {
    const { clock, ask, take } = setUp(1);
    await take();
    expect(await ask()).toBe(60_000);
    clock.time += 60_000;
    await take();
  });

  it('is not passed by a number of requests per minute that is not whole', async () => {
    const { ask, send } = setUp(1.5);
    await send();
    // A second one after 40 s would be two in a minute.
    expect(await ask()).toBe(60_000);
  });

  it('allows less than one request per minute', async () => {
    const { ask, send } = setUp(0.5);
    await send();
    expect(await ask()).toBeGreaterThan(119_000);
  });

  /** A service that counts by clock minutes: requests arrive at any moment between sending and answering. */
  async function simulate(limit: number, latencies: number[], arrivals: number[], idles: number[]) {
    const { clock, ask, limiter } = setUp(limit);
    const startedAt = clock.time;
    const arrivedAt: number[] = [];
    let inFlight: { turn: Turn; endAt: number }[] = [];
    const passTo = (time: number) => {
      for (const { turn, endAt } of inFlight.filter((each) => each.endAt <= time)) {
        clock.time = endAt;
        limiter.finish(turn);
      }
      inFlight = inFlight.filter((each) => each.endAt > time);
      clock.time = time;
    };
    for (let sent = 0; sent < latencies.length; ) {
      passTo(clock.time + (idles[sent] ?? 0));
      const turn = await ask();
      if (typeof turn === 'number') {
        passTo(clock.time + turn);
        continue;
      }
      const latency = latencies[sent] ?? 0;
      arrivedAt.push(clock.time + latency * (arrivals[sent] ?? 0));
      inFlight.push({ turn, endAt: clock.time + latency });
      sent += 1;
    }
    return { arrivedAt: arrivedAt.toSorted((a, b) => a - b), ms: clock.time - startedAt };
  }

  it('never passes the limit in any 60 s, whatever the latencies', async () => {
    const length = 200;
    const list = (item: fc.Arbitrary<number>) =>
      fc.array(item, { minLength: length, maxLength: length });
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(1, 7, 15, 60),
        list(fc.integer({ min: 0, max: 20_000 })),
        list(fc.double({ min: 0, max: 1, noNaN: true })),
        list(fc.constantFrom(0, 0, 0, 0, 1, 30, 100_000)),
        async (limit, latencies, arrivals, idles) => {
          const { arrivedAt } = await simulate(limit, latencies, arrivals, idles);
          for (let last = limit; last < arrivedAt.length; last += 1) {
            const span = (arrivedAt[last] ?? 0) - (arrivedAt[last - limit] ?? 0);
            expect(span).toBeGreaterThanOrEqual(60_000 - 1e-6);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it.each([15, 60, 120])('ends a run at %i rpm within 5%% of the arithmetic', async (limit) => {
    const requests = limit * 10;
    const { ms } = await simulate(limit, Array(requests).fill(500), Array(requests).fill(0.5), []);
    expect(ms).toBeLessThan(10 * 60_000 * 1.05);
  });
});

describe('the quota', () => {
  it('holds nothing back before it is known', async () => {
    const { take } = setUp();
    for (let sent = 0; sent < 100; sent += 1) await take();
  });

  it('lets the rest of a window go out at once, and no more', async () => {
    const { clock, ask, take, send, pauses } = setUp();
    await send(minute(2, 30_000));
    await take();
    await take();
    expect(await ask()).toBe(30_000);
    clock.time += 29_999;
    expect(await ask()).toBe(1);
    clock.time += 1;
    await take();
    expect(pauses).toEqual([{ waitMs: 30_000, retryAfterMs: undefined }]);
  });

  it('takes off what was sent after the request that a response belongs to', async () => {
    const { limiter, ask, take } = setUp();
    const [first] = [await take(), await take(), await take()];
    limiter.finish(first, { windows: [minute(4, 30_000)] });
    await take();
    await take();
    expect(await ask()).toBe(30_000);
  });

  it('knows the next window by the size that the service states, and assumes no other after it', async () => {
    const { clock, ask, take, send } = setUp();
    await send(minute(0, 10_000, 3));
    clock.time += 10_000;
    for (let sent = 0; sent < 3; sent += 1) await take();
    expect(await ask()).toBe(60_000);
    clock.time += 60_000;
    for (let sent = 0; sent < 50; sent += 1) await take();
  });

  it('forgets a window that ended while nothing was sent', async () => {
    const { clock, take, send } = setUp();
    await send(minute(0, 10_000, 3));
    clock.time += 75_000;
    for (let sent = 0; sent < 50; sent += 1) await take();
  });

  it('is not misled by responses that overtake each other, or come from the window before', async () => {
    const { clock, limiter, ask, take } = setUp();
    const [first, second, third] = [await take(), await take(), await take()];
    limiter.finish(third, { windows: [minute(1, 30_000)] });
    limiter.finish(second, { windows: [minute(2, 30_400)] });
    await take();
    expect(await ask()).toBe(30_000);
    clock.time += 31_000;
    limiter.finish(await take(), { windows: [minute(2, 59_000)] });
    limiter.finish(first, { windows: [minute(0, 0)] });
    await take();
  });

  it('does not grow by the response to the last request when the service counted earlier ones after it', async () => {
    const { limiter, ask, take } = setUp();
    const [first, second, last] = [await take(), await take(), await take()];
    // The service counted the last request first: 5 were left, then 4, then 3.
    limiter.finish(first, { windows: [minute(4, 30_000)] });
    limiter.finish(second, { windows: [minute(3, 30_000)] });
    limiter.finish(last, { windows: [minute(5, 30_000)] });
    await take();
    await take();
    expect(await ask()).toBe(30_000);
  });

  it('grows again by a request that was alone, since its response is exact', async () => {
    const { ask, limiter, take } = setUp();
    const [first, lost] = [await take(), await take()];
    limiter.finish(first, { windows: [minute(2, 30_000)] });
    // The connection of this one was never made, so that the service did not count it.
    limiter.finish(lost);
    limiter.finish(await take(), { windows: [minute(1, 30_000)] });
    await take();
    expect(await ask()).toBe(30_000);
  });

  it('ignores a response from the window before that comes after one of this window', async () => {
    const { clock, limiter, ask, take } = setUp();
    const slow = await take();
    clock.time += 1_000;
    const quick = await take();
    clock.time += 900;
    limiter.finish(quick, { windows: [minute(3, 60_000)] });
    clock.time += 1_100;
    limiter.finish(slow, { windows: [minute(5, 1_000)] });
    // The window of the slow one is over by now: that of the quick one isn't.
    clock.time += 1_000;
    for (let sent = 0; sent < 3; sent += 1) await take();
    expect(await ask()).toBe(57_900);
  });

  it('fails for a window that ends too late, until it ends soon enough', async () => {
    const { clock, ask, send, pauses } = setUp();
    await send({ name: 'day', remaining: 0, resetMs: MAX_WAIT_MS + 1 });
    await expect(ask()).rejects.toMatchObject({ retryAfterMs: MAX_WAIT_MS + 1 });
    expect(pauses).toEqual([]);
    clock.time += 1;
    expect(await ask()).toBe(MAX_WAIT_MS);
  });

  it('asks the service again about a window that ends too late after the longest wait', async () => {
    const { clock, ask, take, send } = setUp();
    await send({ name: 'day', remaining: 0, resetMs: 80_000_000 });
    clock.time += MAX_WAIT_MS - 1;
    await expect(ask()).rejects.toMatchObject({ retryAfterMs: 80_000_001 - MAX_WAIT_MS });
    clock.time += 1;
    await take();
  });

  it('never lets more out than a service takes that counts in clock minutes, and misses no minute', async () => {
    const scenario = fc.record({
      size: fc.integer({ min: 1, max: 8 }),
      startMs: fc.integer({ min: 0, max: 59_999 }),
      latencies: fc.array(fc.integer({ min: 1, max: 3000 }), { minLength: 1, maxLength: 10 }),
      concurrency: fc.integer({ min: 1, max: 6 }),
      /** Which requests never reach the service. */
      unsent: fc.array(fc.boolean(), { maxLength: 10 }),
    });
    await fc.assert(
      fc.asyncProperty(scenario, async ({ size, startMs, latencies, concurrency, unsent }) => {
        const { clock, limiter, ask } = setUp();
        clock.time = startMs;
        const counts = new Map<number, number>();
        let inFlight: { turn: Turn; endsAt: number; windows: QuotaWindow[] }[] = [];
        let sent = 0;
        while (clock.time < 5 * 60_000) {
          for (const { turn, windows } of inFlight.filter(({ endsAt }) => endsAt <= clock.time)) {
            limiter.finish(turn, { windows, wasSent: windows.length > 0 });
          }
          inFlight = inFlight.filter(({ endsAt }) => endsAt > clock.time);
          let nextAt = Math.min(5 * 60_000, ...inFlight.map(({ endsAt }) => endsAt));
          // The first request goes alone, as the first batch of a bulk run does.
          const slots = sent <= 1 ? 1 : concurrency;
          while (inFlight.length < slots) {
            const turn = await ask();
            if (typeof turn === 'number') {
              nextAt = Math.min(nextAt, clock.time + turn);
              break;
            }
            const endsAt = clock.time + (latencies[sent % latencies.length] ?? 1);
            nextAt = Math.min(nextAt, endsAt);
            sent += 1;
            if (sent > 1 && unsent[sent % unsent.length]) {
              inFlight.push({ turn, endsAt, windows: [] });
              continue;
            }
            const at = Math.floor(clock.time / 60_000);
            const used = (counts.get(at) ?? 0) + 1;
            expect(used).toBeLessThanOrEqual(size);
            counts.set(at, used);
            const resetMs = Math.ceil(((at + 1) * 60_000 - clock.time) / 1000) * 1000;
            inFlight.push({ turn, endsAt, windows: [minute(size - used, resetMs, size)] });
          }
          clock.time = nextAt;
        }
        if (unsent.includes(true)) return;
        const [, ...whole] = [...counts.entries()].sort(([a], [b]) => a - b);
        expect(whole.map(([, used]) => used)).toEqual([size, size, size, size]);
      }),
      {
        numRuns: 60,
        // A response of the minute before took the end of this one with it.
        examples: [
          [{ size: 6, startMs: 56_060, latencies: [2981, 941], concurrency: 4, unsent: [] }],
          // Requests that were sent at the end of a minute were counted in the next one.
          [
            {
              size: 2,
              startMs: 58_000,
              latencies: [1870, 131],
              concurrency: 3,
              unsent: [false, false, true, false],
            },
          ],
        ],
      },
    );
  });
});

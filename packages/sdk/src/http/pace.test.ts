import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '../../test/fake-clock.ts';
import { Pace } from './pace.ts';

describe('Pace', () => {
  it('spreads requests evenly, stepped to just before and just after each turn', async () => {
    const clock = new FakeClock();
    const pace = new Pace(60, clock);
    expect(pace.leftMs()).toBeLessThanOrEqual(0);
    pace.finish(pace.take());
    await clock.advance(949);
    expect(pace.leftMs()).toBeGreaterThan(0);
    await clock.advance(1);
    expect(pace.leftMs()).toBeLessThanOrEqual(0);
  });

  it('makes up for late timers, so that a run loses no time to them', async () => {
    const clock = new FakeClock();
    const pace = new Pace(600, clock);
    for (let sent = 0; sent < 300; sent += 1) {
      // Each timer fires 3 ms late.
      await clock.advance(Math.max(0, pace.leftMs()) + 3);
      pace.finish(pace.take());
    }
    expect(clock.now()).toBeLessThan(300 * 100 * 1.01);
  });

  it('starts none until 60 s after the one N places before was answered', async () => {
    const clock = new FakeClock();
    const pace = new Pace(2, clock);
    const first = pace.take();
    await clock.advance(5000);
    pace.finish(first);
    await clock.advance(pace.leftMs());
    pace.finish(pace.take());
    expect(clock.now() + pace.leftMs()).toBe(65_000);
  });

  it('does not wait for ever for one that is never answered', async () => {
    const clock = new FakeClock();
    const pace = new Pace(1, clock);
    pace.take();
    expect(pace.leftMs()).toBe(60_000);
    await clock.advance(60_000);
    expect(pace.leftMs()).toBeLessThanOrEqual(0);
  });

  it('allows less than one request per minute', () => {
    const clock = new FakeClock();
    const pace = new Pace(0.5, clock);
    pace.finish(pace.take());
    expect(pace.leftMs()).toBeGreaterThan(119_000);
  });

  /**
   * A server that counts by clock minutes. Requests arrive at any moment between sending and answering, several are in
   * flight, and the clock minute begins anywhere.
   */
  function simulate(limit: number, latencies: number[], arrivals: number[], idles: number[]) {
    let now = 0;
    const pace = new Pace(limit, { now: () => now, date: () => now, delay: async () => {} });
    const arrivedAt: number[] = [];
    const inFlight: { turn: ReturnType<Pace['take']>; endAt: number }[] = [];
    const passTo = (time: number) => {
      now = time;
      for (const request of inFlight.splice(0)) {
        if (request.endAt > now) inFlight.push(request);
        else request.turn.countedAt = request.endAt;
      }
    };
    for (let sent = 0; sent < latencies.length; sent += 1) {
      passTo(now + (idles[sent] ?? 0));
      while (pace.leftMs() > 0) passTo(now + pace.leftMs());
      const latency = latencies[sent] ?? 0;
      arrivedAt.push(now + latency * (arrivals[sent] ?? 0));
      inFlight.push({ turn: pace.take(), endAt: now + latency });
    }
    return { arrivedAt: arrivedAt.toSorted((a, b) => a - b), now };
  }

  it('never passes the limit in any 60 s, whatever the latencies', () => {
    const length = 200;
    const list = (item: fc.Arbitrary<number>) =>
      fc.array(item, { minLength: length, maxLength: length });
    fc.assert(
      fc.property(
        fc.constantFrom(1, 7, 15, 60),
        list(fc.integer({ min: 0, max: 20_000 })),
        list(fc.double({ min: 0, max: 1, noNaN: true })),
        list(fc.constantFrom(0, 0, 0, 0, 1, 30, 100_000)),
        (limit, latencies, arrivals, idles) => {
          const { arrivedAt } = simulate(limit, latencies, arrivals, idles);
          for (let last = limit; last < arrivedAt.length; last += 1) {
            const span = (arrivedAt[last] ?? 0) - (arrivedAt[last - limit] ?? 0);
            expect(span).toBeGreaterThanOrEqual(60_000 - 1e-6);
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it.each([15, 60, 120])('ends a run at %i rpm within 5%% of the arithmetic', (limit) => {
    const requests = limit * 10;
    const { now } = simulate(limit, Array(requests).fill(500), Array(requests).fill(0.5), []);
    expect(now).toBeLessThan(10 * 60_000 * 1.05);
  });
});

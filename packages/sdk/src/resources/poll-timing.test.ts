import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  FIRST_POLL_MS,
  firstPollDelay,
  MAX_POLL_INTERVAL_MS,
  MIN_POLL_INTERVAL_MS,
  nextPollDelay,
  type PollSample,
  remainingMs,
} from './poll-timing.ts';

const sample = (atMs: number, processed: number, total = 10_000): PollSample => ({
  atMs,
  processed,
  total,
});

describe('firstPollDelay', () => {
  it('is short where nothing is known, and a little beyond the expected end where it is', () => {
    expect(firstPollDelay(undefined)).toBe(FIRST_POLL_MS);
    expect(firstPollDelay(1000)).toBe(1100);
    expect(firstPollDelay(0)).toBe(50);
    expect(firstPollDelay(3_600_000)).toBe(MAX_POLL_INTERVAL_MS);
  });
});

describe('nextPollDelay', () => {
  it('doubles while progress says nothing, then grows by a quarter of the time waited', () => {
    expect(nextPollDelay([sample(200, 0)])).toBe(400);
    expect(nextPollDelay([sample(200, 0), sample(600, 0)])).toBe(650);
    expect(nextPollDelay([sample(8000, 0), sample(12_000, 0)])).toBe(3500);
  });

  it('goes to where the job should end once two polls show its speed', () => {
    // 10 links per ms: 5,000 are left.
    expect(nextPollDelay([sample(200, 2000), sample(500, 5000)])).toBe(500 * 1.05 + 50);
  });

  it('trusts a forecast no further than three times the time waited', () => {
    expect(nextPollDelay([sample(200, 2), sample(400, 4)])).toBe(1200);
  });

  it('does not yet trust the speed of a job that was just seen to begin', () => {
    expect(nextPollDelay([sample(2000, 0), sample(3000, 100)])).toBe(1250);
    expect(nextPollDelay([sample(3000, 100)])).toBe(1250);
  });

  it('backs off from a job that stands still after it had begun', () => {
    const samples = [sample(1000, 5000), sample(1200, 9900), sample(1400, 9900)];
    const delays: number[] = [];
    for (let i = 0; i < 4; i += 1) {
      const delay = nextPollDelay(samples);
      delays.push(delay);
      samples.push(sample((samples.at(-1)?.atMs ?? 0) + delay, 9900));
    }
    expect(delays).toEqual([400, 800, 1150, 1437.5]);
  });

  it('uses the recent speed when a job speeds up', () => {
    const slowThenFast = [sample(1000, 100), sample(5000, 500), sample(6000, 5500)];
    expect(remainingMs(slowThenFast)).toBe(900);
  });

  it('stays within its bounds, whatever a service says', () => {
    const numbers = fc.oneof(fc.integer(), fc.double(), fc.constant(Number.NaN));
    const samples = fc.array(
      fc.record({ atMs: fc.nat(10_000_000), processed: numbers, total: numbers }),
      { minLength: 1, maxLength: 6 },
    );
    fc.assert(
      fc.property(samples, (list) => {
        const sorted = list.toSorted((a, b) => a.atMs - b.atMs);
        const delay = nextPollDelay(sorted);
        expect(delay).toBeGreaterThanOrEqual(MIN_POLL_INTERVAL_MS);
        expect(delay).toBeLessThanOrEqual(MAX_POLL_INTERVAL_MS);
      }),
    );
  });
});

/** Polls a job of this length that works in chunks, and tells when its end was seen and by how many polls. */
function simulate(lengthMs: number, chunk: number, latencyMs: number, idleMs = 0) {
  const total = 10_000;
  const processedAt = (ms: number) =>
    Math.floor((Math.max(0, ms - idleMs) / (lengthMs - idleMs)) * (total / chunk)) * chunk;
  const samples: PollSample[] = [];
  let now = firstPollDelay(undefined);
  for (let polls = 1; ; polls += 1) {
    const answeredAt = now + latencyMs / 2;
    now += latencyMs;
    if (answeredAt >= lengthMs) return { seenMs: now, polls };
    samples.push({ atMs: now, processed: processedAt(answeredAt), total });
    now += nextPollDelay(samples);
  }
}

describe('polling a job of 10,000 links', () => {
  const mostPolls: [lengthMs: number, polls: number][] = [
    [300, 6],
    [3000, 6],
    [8000, 6],
    [60_000, 10],
  ];
  it.each(mostPolls)('of %i ms sees its end soon, in at most %i polls', (lengthMs, polls) => {
    for (const chunk of [1, 100, 500]) {
      for (const latencyMs of [0, 5, 30, 80]) {
        for (const idleMs of [0, 50, 250]) {
          const seen = simulate(lengthMs, chunk, latencyMs, idleMs);
          const when = `chunks of ${chunk}, ${latencyMs} ms latency, ${idleMs} ms idle`;
          expect(seen.seenMs, when).toBeLessThanOrEqual(1.25 * lengthMs + 500);
          expect(seen.polls, when).toBeLessThanOrEqual(polls);
        }
      }
    }
  });

  it('sees the end of any job soon even where it shows no progress at all', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 110_000 }), (lengthMs) => {
        expect(simulate(lengthMs, 10_000, 0).seenMs).toBeLessThanOrEqual(1.25 * lengthMs + 500);
      }),
    );
  });
});

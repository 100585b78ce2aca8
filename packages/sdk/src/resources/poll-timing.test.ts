import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  firstPollDelay,
  KnownJobs,
  MAX_POLL_INTERVAL_MS,
  MIN_POLL_INTERVAL_MS,
  nextPollDelay,
  type PollSample,
  remainingRange,
} from './poll-timing.ts';

const sample = (atMs: number, processed: number, total = 10_000): PollSample => ({
  atMs,
  processed,
  total,
});

describe('firstPollDelay', () => {
  it('is short where nothing is known, and a little beyond the expected end where it is', () => {
    expect(firstPollDelay(undefined, 0)).toBe(150);
    expect(firstPollDelay(undefined, 600)).toBe(110);
    expect(firstPollDelay(undefined, 3_000)).toBe(150);
    expect(firstPollDelay(undefined, 10_000)).toBe(150);
    expect(firstPollDelay(1000, 10_000)).toBe(1100);
    expect(firstPollDelay(3_600_000, 10_000)).toBe(MAX_POLL_INTERVAL_MS);
  });

  it('is never so short that a fast service needs a second poll, whatever it has learned', () => {
    expect(firstPollDelay(0, 600)).toBe(100);
    expect(firstPollDelay(0, 50_000)).toBe(100);
    expect(firstPollDelay(70, 10_000)).toBe(70 * 1.05 + 50);
  });
});

describe('nextPollDelay', () => {
  it('grows with the time waited while there is no progress', () => {
    expect(nextPollDelay([sample(150, 0)])).toBe(2.4 * 150);
    expect(nextPollDelay([sample(150, 0), sample(500, 0)])).toBe(0.65 * 500 + 500);
    expect(nextPollDelay([sample(8000, 0), sample(12_000, 0)])).toBe(0.65 * 12_000 + 500);
  });

  it('goes to where the job should end once two polls show its speed', () => {
    // 9,999 links per 1,000 ms, seen to the link: 5,001 are left.
    const delay = nextPollDelay([sample(200, 2000), sample(500, 4999)]);
    expect(delay).toBeCloseTo(500.3 * 1.05 + 50, 0);
  });

  it('trusts a forecast no further than three times the time waited', () => {
    expect(nextPollDelay([sample(200, 21), sample(400, 40)])).toBe(1200);
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
    const patience = [1400 + 480 + 1152, 1400 + 480 + 1152 + 2470.8].map((ms) => 0.65 * ms + 500);
    expect(delays).toEqual([2.4 * 200, 2.4 * 480, ...patience]);
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

describe('remainingRange', () => {
  it('is not known without progress', () => {
    expect(remainingRange([])).toBeUndefined();
    expect(remainingRange([sample(1000, 0), sample(2000, 0)])).toBeUndefined();
    expect(remainingRange([sample(1000, 20, 10)])).toBeUndefined();
  });

  it('is anything up to the slowest pace for a job seen running once', () => {
    expect(remainingRange([sample(1000, 100)])).toEqual({ shortest: 0, longest: 99_000 });
  });

  it('is close for a job that counts every link', () => {
    const range = remainingRange([sample(1000, 1001), sample(2000, 2003)]);
    // 1,002 links a second, more or less by one; 7,997 are left.
    expect(range?.shortest).toBeCloseTo((7996 / 1003) * 1000);
    expect(range?.longest).toBeCloseTo((7997 / 1001.5) * 1000);
  });

  it('is wide for a job that counts in steps, which may be a whole step ahead', () => {
    // 20% in 1 s may be 10% to 30%; 40% are shown and up to 50% done.
    const range = remainingRange([sample(1000, 2000), sample(2000, 4000), sample(2500, 6000)]);
    expect(range).toEqual({ shortest: 250, longest: (4000 * 2500) / 6000 });
  });

  it('follows a job that speeds up', () => {
    const range = remainingRange([sample(1000, 101), sample(5000, 500), sample(6000, 5500)]);
    expect(range?.shortest).toBeLessThan(900);
    expect(range?.longest).toBeCloseTo(900, 0);
  });
});

/** Polls a job of this length that works in chunks, and tells when its end was seen and by how many polls. */
function simulate(lengthMs: number, chunk: number, latencyMs: number, idleMs = 0) {
  const total = 10_000;
  const processedAt = (ms: number) =>
    Math.floor((Math.max(0, ms - idleMs) / (lengthMs - idleMs)) * (total / chunk)) * chunk;
  const samples: PollSample[] = [];
  let now = firstPollDelay(undefined, total);
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
    for (const chunk of [1, 100, 500, 1000]) {
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

  it.each(mostPolls)(
    'of %i ms that shows few steps or none costs little more',
    (lengthMs, polls) => {
      for (const chunk of [2000, 2500, 5000, 10_000]) {
        for (const latencyMs of [0, 5, 30, 80]) {
          const seen = simulate(lengthMs, chunk, latencyMs);
          const when = `chunks of ${chunk}, ${latencyMs} ms latency`;
          expect(seen.seenMs, when).toBeLessThanOrEqual(1.65 * lengthMs + 500 + latencyMs);
          expect(seen.polls, when).toBeLessThanOrEqual(chunk === 10_000 ? polls : polls + 1);
        }
      }
    },
  );

  it('sees the end of any job soon even where it shows no progress at all, and never spins', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 90_000 }), (lengthMs) => {
        const { seenMs, polls } = simulate(lengthMs, 10_000, 0);
        expect(seenMs).toBeLessThanOrEqual(1.65 * lengthMs + 500);
        expect(polls).toBeLessThanOrEqual(11);
      }),
    );
  });
});

/** Polls that saw a job incomplete, and complete after `lengthMs`. */
const measured = (total: number, lengthMs: number) => [
  sample(lengthMs / 2, 0, total),
  sample(lengthMs, total, total),
];

/** Runs jobs of one length one after the other, and tells how many polls each took at least. */
function pollsOf(lengths: KnownJobs, lengthMs: number, jobs: number, total = 10_000): number[] {
  return Array.from({ length: jobs }, () => {
    const firstAt = firstPollDelay(lengths.expectedMs(total), total);
    if (firstAt >= lengthMs) {
      lengths.learn(total, [sample(firstAt, total, total)]);
      return 1;
    }
    lengths.learn(total, measured(total, lengthMs));
    return 2;
  });
}

describe('the length of a job', () => {
  it('knows nothing at first, then scales with the number of links', () => {
    const lengths = new KnownJobs();
    expect(lengths.expectedMs(100)).toBeUndefined();
    lengths.learn(10_000, measured(10_000, 2000));
    expect(lengths.expectedMs(5_000)).toBe(1000);
  });

  it('needs at most two polls per job of a steady service, and mostly one', () => {
    const lengths = new KnownJobs();
    lengths.learn(10_000, measured(10_000, 3000));
    const polls = pollsOf(lengths, 3000, 30);
    expect(Math.max(...polls)).toBe(2);
    expect(polls.reduce((a, b) => a + b)).toBeLessThanOrEqual(46);
  });

  it('needs one poll for each job of a fast service', () => {
    for (const lengthMs of [15, 60, 90, 100]) {
      expect(pollsOf(new KnownJobs(), lengthMs, 30)).toEqual(Array(30).fill(1));
    }
    expect(pollsOf(new KnownJobs(), 90, 30, 1_000)).toEqual(Array(30).fill(1));
  });

  it.each([110, 140])('polls once too early, where jobs take %i ms', (lengthMs) => {
    const polls = pollsOf(new KnownJobs(), lengthMs, 30);
    expect(polls.filter((count) => count > 1)).toHaveLength(1);
  });

  it('catches up with a service that became ten times faster in six jobs', () => {
    const lengths = new KnownJobs();
    lengths.learn(10_000, measured(10_000, 20_000));
    pollsOf(lengths, 2000, 6);
    expect(lengths.expectedMs(10_000)).toBeLessThan(2 * 2000);
  });

  it('takes the time of a first job that was complete at its first poll for the most it can be', () => {
    const lengths = new KnownJobs();
    lengths.learn(1000, [sample(200, 1000, 1000)]);
    expect(lengths.expectedMs(1000)).toBeLessThan(200);
    lengths.learn(1000, [sample(50, 1000, 1000)]);
    expect(lengths.expectedMs(1000)).toBeLessThanOrEqual(50);
  });

  it('learns nothing from a job without links', () => {
    const lengths = new KnownJobs();
    lengths.learn(0, measured(0, 100));
    lengths.learn(0, [sample(100, 0, 0)]);
    expect(lengths.expectedMs(10)).toBeUndefined();
  });
});

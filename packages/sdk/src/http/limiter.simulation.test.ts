import { expect, it } from 'vitest';
import { FakeClock } from '../../test/fake-clock.ts';
import { MAX_WAIT_MS, minute } from '../../test/stopped-limiter.ts';
import { Limiter } from './limiter.ts';

/** Clients that send as fast as they are let, over one limiter, to a service that counts in clock minutes. */
interface Scene {
  /** Requests in a minute. */
  size: number;
  /** Requests under way at a time. */
  workers: number;
  /** Shortest and longest latency, in milliseconds. @default from 20 to 2,000 */
  latencyMs?: [number, number];
  /** Longest rest of a worker between two requests, in milliseconds. @default 0 */
  restMs?: number;
  /** Share of the quota that other clients take, on average. @default 0 */
  others?: number;
}

/** Numbers from 0 to below 1, the same in every run. */
function randomFrom(seed: number) {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32;
    return state / 2 ** 32;
  };
}

class Held extends Error {
  readonly ms: number;

  constructor(ms: number) {
    super(`held for ${ms} ms`);
    this.ms = ms;
  }
}

class Moments extends FakeClock {
  time = 33_000;
  override now = () => this.time;
  override delay(ms: number): Promise<void> {
    throw new Held(ms);
  }
}

const MINUTES = 20;

/** Runs a scene for 20 minutes: the share of requests that were refused, and the share of the quota that was used. */
async function simulate(scene: Scene, seed: number) {
  const { size, workers, latencyMs = [20, 2_000], restMs = 0, others = 0 } = scene;
  const random = randomFrom(seed);
  const clock = new Moments();
  const limiter = new Limiter(Number.POSITIVE_INFINITY, clock);
  const onPause = () => {};
  let events: { at: number; happen: () => void | Promise<void> }[] = [];
  const after = (ms: number, happen: () => void | Promise<void>) => {
    const at = clock.time + ms;
    const index = events.findLastIndex((event) => event.at <= at);
    events.splice(index + 1, 0, { at, happen });
  };
  const counts = new Map<number, { free: number; ours: number; left: number }>();
  let refused = 0;
  let sent = 0;

  const work = async (): Promise<void> => {
    try {
      const turn = await limiter.turn({
        failsAtLimit: false,
        maxRetryAfterMs: MAX_WAIT_MS,
        onPause,
      });
      const [shortest, longest] = latencyMs;
      const takesMs = shortest + random() * (longest - shortest);
      const arrivesMs = takesMs * random();
      const again = () => after(restMs * random(), work);
      const kind = random();
      // One in 33 finds no connection; of one in 100 the response is lost.
      if (kind < 0.03) {
        return after(takesMs, () => {
          limiter.finish(turn, { wasSent: false });
          again();
        });
      }
      after(arrivesMs, () => {
        const at = Math.floor(clock.time / 60_000);
        const free = Math.max(0, size - Math.floor(others * random() * 2 * size));
        const count = counts.get(at) ?? { free, ours: 0, left: free };
        counts.set(at, count);
        sent += 1;
        const isTaken = count.left > 0;
        if (isTaken) {
          count.left -= 1;
          count.ours += 1;
        } else refused += 1;
        const resetMs = Math.ceil(((at + 1) * 60_000 - clock.time) / 1000) * 1000;
        const windows = [minute(count.left, resetMs, size)];
        after(takesMs - arrivesMs, () => {
          limiter.finish(turn, kind < 0.04 ? {} : { status: isTaken ? 201 : 429, windows });
          if (!isTaken && kind >= 0.04) limiter.pause(resetMs, resetMs, onPause);
          again();
        });
      });
    } catch (error) {
      if (!(error instanceof Held)) throw error;
      after(Math.ceil(error.ms), work);
    }
  };
  for (let n = 0; n < workers; n += 1) await work();
  for (;;) {
    const [next] = events;
    if (next === undefined || next.at > MINUTES * 60_000) break;
    events = events.slice(1);
    clock.time = next.at;
    await next.happen();
  }
  const whole = [...counts].filter(([at]) => at > 0 && at < MINUTES - 1).map(([, count]) => count);
  const sum = (of: 'ours' | 'free') => whole.reduce((total, count) => total + count[of], 0);
  return { refused: refused / sent, used: sum('ours') / sum('free') };
}

it.each<[string, Scene, { refused: number; used: number }]>([
  ['15 a minute, 4 at a time', { size: 15, workers: 4 }, { refused: 0.03, used: 0.97 }],
  ['60 a minute, 20 at a time', { size: 60, workers: 20 }, { refused: 0.02, used: 0.98 }],
  ['120 a minute, 50 at a time', { size: 120, workers: 50 }, { refused: 0.01, used: 0.98 }],
  [
    'slow responses',
    { size: 60, workers: 20, latencyMs: [2_000, 20_000] },
    { refused: 0.02, used: 0.95 },
  ],
  [
    'fewer requests than the quota, around the end of each minute too',
    { size: 60, workers: 20, restMs: 30_000 },
    { refused: 0.01, used: 0.97 },
  ],
  ['others who take a fifth', { size: 60, workers: 8, others: 0.2 }, { refused: 0.02, used: 0.97 }],
])('the quota that a service states is used, and not passed: %s', async (_, scene, limits) => {
  const runs = await Promise.all([1, 2, 3, 4].map((seed) => simulate(scene, seed * 7919)));
  const mean = (of: 'refused' | 'used') =>
    runs.reduce((sum, run) => sum + run[of], 0) / runs.length;
  const figures = { refused: mean('refused'), used: mean('used') };
  expect(figures.refused, JSON.stringify(figures)).toBeLessThan(limits.refused);
  expect(figures.used, JSON.stringify(figures)).toBeGreaterThan(limits.used);
});

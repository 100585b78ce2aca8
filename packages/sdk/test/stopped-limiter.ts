import { Limiter, type Turn } from '../src/http/limiter.ts';
import type { QuotaWindow } from '../src/http/response-headers.ts';
import type { CooldownEvent } from '../src/http/watching.ts';
import { FakeClock } from './fake-clock.ts';

export const MAX_WAIT_MS = 90_000;

/** A clock that stands still: a wait ends at once and is kept, so that a turn is either there or says how long it takes. */
class StoppedClock extends FakeClock {
  time = 1_000_000;

  override now(): number {
    return this.time;
  }

  override delay(ms: number): Promise<void> {
    throw new Held(ms);
  }
}

class Held extends Error {
  readonly ms: number;

  constructor(ms: number) {
    super(`held for ${ms} ms`);
    this.ms = ms;
  }
}

/** A limiter on a stopped clock. */
export function setUp(requestsPerMinute = Number.POSITIVE_INFINITY) {
  const clock = new StoppedClock();
  const pauses: CooldownEvent[] = [];
  const limits = { requestsPerMinute, maxRetryAfterMs: MAX_WAIT_MS };
  const limiter = new Limiter(limits, clock, (event) => pauses.push(event));
  /** A turn, or how long the next request has to wait for one, in milliseconds. */
  const ask = async (): Promise<Turn | number> => {
    try {
      return await limiter.turn({ failsAtLimit: false });
    } catch (error) {
      if (error instanceof Held) return error.ms;
      throw error;
    }
  };
  const take = async (): Promise<Turn> => {
    const turn = await ask();
    if (typeof turn === 'number') throw new Error(`held for ${turn} ms`);
    return turn;
  };
  const send = async (...windows: QuotaWindow[]) => limiter.finish(await take(), windows);
  return { clock, limiter, ask, take, send, pauses };
}

export const minute = (remaining: number, resetMs: number, quota?: number): QuotaWindow => ({
  name: 'minute',
  remaining,
  resetMs,
  ...(quota !== undefined && { quota, windowMs: 60_000 }),
});

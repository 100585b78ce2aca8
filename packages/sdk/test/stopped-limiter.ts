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

type Pause = Omit<CooldownEvent, 'id'>;

/** A limiter on a stopped clock. */
export function setUp(requestsPerMinute = Number.POSITIVE_INFINITY) {
  const clock = new StoppedClock();
  const pauses: Pause[] = [];
  const limiter = new Limiter(requestsPerMinute, clock);
  const onPause = (pause: Pause) => void pauses.push(pause);
  /** A turn, or how long the next request has to wait for one, in milliseconds. */
  const ask = async (): Promise<Turn | number> => {
    try {
      return await limiter.turn({ failsAtLimit: false, maxRetryAfterMs: MAX_WAIT_MS, onPause });
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
  const send = async (...windows: QuotaWindow[]) => limiter.finish(await take(), { windows });
  const pause = (waitMs: number, retryAfterMs?: number) =>
    limiter.pause(waitMs, retryAfterMs, onPause);
  return { clock, limiter, ask, take, send, pauses, pause, onPause };
}

export const minute = (remaining: number, resetMs: number, quota?: number): QuotaWindow => ({
  name: 'minute',
  remaining,
  resetMs,
  ...(quota !== undefined && { quota, windowMs: 60_000 }),
});

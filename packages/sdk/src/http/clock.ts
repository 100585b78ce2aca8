import { delay } from './delay.ts';

/** Time as the client sees it; tests replace it. */
export interface Clock {
  /** Milliseconds on a clock that never jumps; only differences mean anything. */
  now(): number;
  /** Milliseconds since 1970, to compare with dates in headers. */
  date(): number;
  /** See {@link delay}. */
  delay(ms: number, signal?: AbortSignal | undefined): Promise<void>;
}

/** The runtime's own clock. The globals are read at each call, so that fake timers of a test framework are seen. */
export const systemClock: Clock = {
  now: () => performance.now(),
  date: () => Date.now(),
  delay,
};

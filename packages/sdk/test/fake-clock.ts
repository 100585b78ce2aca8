import type { Clock } from '../src/http/time.ts';

interface Sleeper {
  at: number;
  wake: () => void;
}

/** Lets everything that waits for no clock go on: promises, and the event loop's own turns that bodies take. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

/** A clock that stands still until a test moves it. */
export class FakeClock implements Clock {
  /** Every wait that was asked for, in milliseconds. */
  readonly delays: number[] = [];
  /** For a thousand sleepers, which would take seconds one by one. */
  protected readonly wakesTogether: boolean = false;
  readonly #dateOffset: number;
  #now = 0;
  #sleepers: Sleeper[] = [];

  constructor(startDate = Date.UTC(2026, 10, 20)) {
    this.#dateOffset = startDate;
  }

  now(): number {
    return this.#now;
  }

  date(): number {
    return this.#dateOffset + this.#now;
  }

  delay(ms: number, signal?: AbortSignal): Promise<void> {
    this.delays.push(ms);
    return new Promise((resolve, reject) => {
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const onAbort = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const sleeper = { at: this.#now + ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** How many waits are under way. */
  get sleeping(): number {
    return this.#sleepers.length;
  }

  /** How long until the next wait ends; undefined where there is none. */
  get nextMs(): number | undefined {
    const [first] = this.#sleepers.toSorted((a, b) => a.at - b.at);
    return first && Math.max(0, first.at - this.#now);
  }

  /** Moves the time on, stopping at each wait's end in turn. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const next = this.#sleepers.toSorted((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      this.#now = Math.max(this.#now, next.at);
      const isDue = (sleeper: Sleeper) =>
        this.wakesTogether ? sleeper.at <= this.#now : sleeper === next;
      const due = this.#sleepers.filter(isDue);
      this.#sleepers = this.#sleepers.filter((sleeper) => !isDue(sleeper));
      for (const { wake } of due) wake();
      await settle();
    }
    this.#now = end;
  }
}

/** A clock whose waits take no real time: each one moves it on at once. */
export class InstantClock extends FakeClock {
  #skipped = 0;

  override now(): number {
    return super.now() + this.#skipped;
  }

  override async delay(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    this.delays.push(ms);
    this.#skipped += ms;
  }
}

import { StoreError } from '../store-error.ts';

export interface GateOptions {
  /** Calls that run at a time. */
  places: number;
  /** How long a call may wait for its turn, in milliseconds. Longer, and its client has given up. @default 10_000 */
  maxWaitMs?: number | undefined;
  /** Calls that may wait; one more is rejected at once. @default 10_000 */
  maxWaiting?: number | undefined;
}

interface Waiting {
  enter: () => void;
  reject: (error: unknown) => void;
}

/**
 * Lets a bounded number of calls run at a time; the others wait in the order they came. The pool could queue too, but
 * counts that wait as part of connecting, and connecting must fail fast when the database is down.
 */
export class Gate {
  readonly #waiting: Waiting[] = [];
  readonly #maxWaitMs: number;
  readonly #maxWaiting: number;
  #free: number;
  #calls = 0;

  constructor({ places, maxWaitMs = 10_000, maxWaiting = 10_000 }: GateOptions) {
    this.#free = places;
    this.#maxWaitMs = maxWaitMs;
    this.#maxWaiting = maxWaiting;
  }

  /** Nothing runs and nothing waits. */
  get isIdle(): boolean {
    return this.#calls === 0;
  }

  /** @throws StoreError `busy` when its turn doesn't come in time. Then nothing was started. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    this.#calls += 1;
    try {
      if (this.#free > 0) this.#free -= 1;
      else await this.#turn();
      try {
        return await call();
      } finally {
        const next = this.#waiting.shift();
        if (next === undefined) this.#free += 1;
        else next.enter();
      }
    } finally {
      this.#calls -= 1;
    }
  }

  /** Rejects the calls that wait now: what made a call before them fail would make them fail too. */
  rejectWaiting(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#maxWaiting) {
      throw new StoreError('busy', `${this.#maxWaiting} calls wait for the database.`);
    }
    return new Promise((resolve, reject) => {
      const turn = {
        enter: () => {
          clearTimeout(timer);
          resolve();
        },
        reject: (error: unknown) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        reject(new StoreError('busy', `All connections were in use for ${this.#maxWaitMs} ms.`));
      }, this.#maxWaitMs);
      this.#waiting.push(turn);
    });
  }
}

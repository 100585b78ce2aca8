import { StoreError } from '../store-error.ts';

/** How long a call may wait for its turn, in milliseconds. Longer, and its client has given up. */
const MAX_WAIT_MS = 10_000;

/**
 * Lets a bounded number of calls run at a time; the others wait in the order they came. The pool could queue too, but
 * counts that wait as part of connecting, and connecting must fail fast when the database is down.
 */
export class Gate {
  readonly #waiting: { enter: () => void }[] = [];
  #free: number;

  constructor(places: number) {
    this.#free = places;
  }

  /** @throws StoreError `busy` when its turn doesn't come in time. Then nothing was started. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn();
    try {
      return await call();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next.enter();
    }
  }

  #turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const turn = {
        enter: () => {
          clearTimeout(timer);
          resolve();
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        reject(new StoreError('busy', `All connections were in use for ${MAX_WAIT_MS} ms.`));
      }, MAX_WAIT_MS);
      this.#waiting.push(turn);
    });
  }
}

import { StoreError } from '../store-error.ts';

/** Knows the calls that are under way, so that closing can let them end. */
export class OpenCalls {
  readonly #open = new Set<Promise<unknown>>();
  #closed = false;

  /** @throws StoreError `closed` once {@link close} was called. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreError('closed', 'The database was closed.');
    const running = call();
    this.#open.add(running);
    try {
      return await running;
    } finally {
      this.#open.delete(running);
    }
  }

  /** Refuses new calls and waits for those that are under way. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#open);
  }
}

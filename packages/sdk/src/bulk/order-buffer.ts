/** A run of `count` entries from the one at `first`. */
interface Placed {
  first: number;
  inputs: { length: number };
}

/** Gives back what was put in any order in the order of `first`, without holes until it is closed. */
export class OrderBuffer<B extends Placed> {
  readonly #waiting = new Map<number, B>();
  #next = 0;
  #isClosed = false;

  put(batch: B): void {
    this.#waiting.set(batch.first, batch);
  }

  /** Nothing more will be put: from now on {@link take} passes over what is missing. */
  close(): void {
    this.#isClosed = true;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** The batch whose turn it is, or undefined when it is not there yet or, after {@link close}, nothing is left. */
  take(): B | undefined {
    if (this.#isClosed && this.#waiting.size > 0 && !this.#waiting.has(this.#next)) {
      this.#next = Math.min(...this.#waiting.keys());
    }
    const batch = this.#waiting.get(this.#next);
    if (batch === undefined) return undefined;
    this.#waiting.delete(batch.first);
    this.#next = batch.first + batch.inputs.length;
    return batch;
  }
}

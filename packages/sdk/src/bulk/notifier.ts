/** Wakes those who wait for something to change. Check the condition again after each wait. */
export class Notifier {
  #wakes: (() => void)[] = [];

  /** Resolves at the next {@link notify}. */
  wait(): Promise<void> {
    return new Promise((resolve) => this.#wakes.push(resolve));
  }

  notify(): void {
    const wakes = this.#wakes;
    this.#wakes = [];
    for (const wake of wakes) wake();
  }
}

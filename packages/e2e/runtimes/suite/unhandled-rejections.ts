/** What runtimes offer: Node and Bun the first, workers and browsers the second, Deno both. */
interface Scope {
  process?: {
    on?: (event: 'unhandledRejection', listener: (reason: unknown) => void) => void;
  };
  addEventListener?: (
    event: 'unhandledrejection',
    listener: (event: { reason: unknown; preventDefault: () => void }) => void,
  ) => void;
}

/** Rejections that nobody handled, as this runtime reports them. */
export class UnhandledRejections {
  readonly #reasons = new Set<unknown>();

  constructor() {
    const scope: Scope = globalThis;
    scope.process?.on?.('unhandledRejection', (reason) => this.#reasons.add(reason));
    scope.addEventListener?.('unhandledrejection', (event) => {
      event.preventDefault();
      this.#reasons.add(event.reason);
    });
  }

  /** Every reason since the last call, once the runtime had time to report them. */
  async take(): Promise<unknown[]> {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const reasons = [...this.#reasons];
    this.#reasons.clear();
    return reasons;
  }

  /** Whether the runtime reports them at all: without this, seeing none would mean nothing. */
  async areSeen(): Promise<boolean> {
    const probe = new Error('nobody handles this');
    void Promise.reject(probe);
    return (await this.take()).includes(probe);
  }
}

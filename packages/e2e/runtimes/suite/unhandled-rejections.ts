/** The ways to observe unhandled rejections: Node and Bun have the first, workers and browsers the second, Deno both. */
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

  /** Waits until the runtime has had time to report, then resolves to the reasons since the last call. */
  async take(): Promise<unknown[]> {
    await new Promise((resolve) => setTimeout(resolve, 50));
    const reasons = [...this.#reasons];
    this.#reasons.clear();
    return reasons;
  }

  /** Whether the runtime reports unhandled rejections at all. Otherwise an empty list would prove nothing. */
  async areSeen(): Promise<boolean> {
    const probe = new Error('nobody handles this');
    void Promise.reject(probe);
    return (await this.take()).includes(probe);
  }
}

import { OutageLog, type OutageLogOptions } from '../logger.ts';

export interface RepeatedOptions extends Pick<OutageLogOptions, 'logger' | 'what'> {
  act: (signal: AbortSignal) => Promise<unknown>;
  /** Wait between the end of a call and the next one, in milliseconds. */
  everyMs: number;
}

/** Calls something again and again, one call at a time, so that calls don't pile up while the database hangs. It is called again after a failure. */
export class Repeated {
  readonly #options: RepeatedOptions;
  readonly #outage: OutageLog;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(options: RepeatedOptions) {
    this.#options = options;
    this.#outage = new OutageLog(options);
  }

  /** Resolves after the first call, also when it failed. */
  start(): Promise<void> {
    this.#running = this.#run();
    return this.#running;
  }

  /** Begins with the wait. */
  startLater(): void {
    if (this.#stopping.signal.aborted) return;
    this.#timer = setTimeout(() => this.start(), this.#options.everyMs);
    this.#timer.unref();
  }

  /** Waits for the call that is under way. Its signal tells it to end. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    clearTimeout(this.#timer);
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    try {
      await this.#options.act(signal);
      this.#outage.succeeded();
    } catch (error) {
      if (!signal.aborted) this.#outage.failed(error);
    }
    this.startLater();
  }
}

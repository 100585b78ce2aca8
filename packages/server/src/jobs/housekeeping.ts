import type { Logger } from '../logger.ts';
import type { Store } from '../store/store.ts';

/** How often old rows are deleted, in milliseconds. */
export const PRUNE_INTERVAL_MS = 3_600_000;

export interface HousekeepingOptions {
  store: Pick<Store, 'prune'>;
  /** @default nothing is logged */
  logger?: Pick<Logger, 'error'> | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  now?: (() => number) | undefined;
}

/** Deletes what is past its retention: once at the start, then every hour. */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #stopping = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
  }

  start(): void {
    this.#prune();
    this.#timer = setInterval(() => this.#prune(), PRUNE_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Waits for the present step of the run that is under way: all of them can take longer than a service manager waits for the exit. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    await this.#running;
  }

  #prune(): void {
    const { store, logger, now = Date.now } = this.#options;
    this.#running ??= store
      .prune(now(), this.#stopping.signal)
      .catch((error: unknown) => {
        logger?.error({ err: error }, 'old rows could not be deleted');
      })
      .finally(() => {
        this.#running = undefined;
      });
  }
}

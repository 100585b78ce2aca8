import { type Logger, OutageLog } from '../logger.ts';
import type { Store } from '../store/store.ts';

/** How often old rows are deleted, in milliseconds. */
export const PRUNE_INTERVAL_MS = 3_600_000;

/** How often the index of targets is brought up to date, and the pause between two steps, in milliseconds. */
export const INDEX_MS = { rest: 1_000, pause: 20 } as const;

export interface HousekeepingOptions {
  store: Pick<Store, 'prune' | 'indexLinks'>;
  /** @default nothing is logged */
  logger?: Pick<Logger, 'error' | 'info'> | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  now?: (() => number) | undefined;
}

/** Deletes what is past its retention, once at the start, then every hour; and keeps the index of targets up to date. */
export class Housekeeping {
  readonly #options: HousekeepingOptions;
  readonly #stopping = new AbortController();
  readonly #outage: OutageLog;
  #timer: NodeJS.Timeout | undefined;
  #indexTimer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #indexing: Promise<void> | undefined;

  constructor(options: HousekeepingOptions) {
    this.#options = options;
    this.#outage = new OutageLog({ logger: options.logger, what: 'indexing links' });
  }

  start(): void {
    this.#indexing = this.#index();
    this.#prune();
    this.#timer = setInterval(() => this.#prune(), PRUNE_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Waits for the present step of the run that is under way: all of them can take longer than a service manager waits for the exit. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    clearTimeout(this.#indexTimer);
    this.#stopping.abort();
    await Promise.all([this.#running, this.#indexing]);
  }

  async #index(): Promise<void> {
    let restMs: number = INDEX_MS.rest;
    try {
      const { done } = await this.#options.store.indexLinks();
      this.#outage.succeeded();
      if (!done) restMs = INDEX_MS.pause;
    } catch (error) {
      if (!this.#stopping.signal.aborted) this.#outage.failed(error);
    }
    if (this.#stopping.signal.aborted) return;
    this.#indexTimer = setTimeout(() => {
      this.#indexing = this.#index();
    }, restMs).unref();
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

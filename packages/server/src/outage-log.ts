import type { Logger } from './logger.ts';

/** While something keeps failing, one log line in this time says so, in milliseconds. */
const INTERVAL_MS = 60_000;

export interface OutageLogOptions {
  /** @default nothing is logged */
  logger: Pick<Logger, 'error' | 'info'> | undefined;
  /** What fails, as the subject of the log lines, such as `writing clicks`. */
  what: string;
  /** Milliseconds, never going back. @default performance.now */
  now?: (() => number) | undefined;
}

/**
 * Logs something that may fail many times a second for as long as the database is away: the first failure, then at most one
 * failure a minute with the number of those that were not logged, and the end.
 */
export class OutageLog {
  readonly #logger: OutageLogOptions['logger'];
  readonly #what: string;
  readonly #now: () => number;
  #loggedAt = Number.NEGATIVE_INFINITY;
  #notLogged = 0;
  #failing = false;

  constructor({ logger, what, now = () => performance.now() }: OutageLogOptions) {
    this.#logger = logger;
    this.#what = what;
    this.#now = now;
  }

  failed(error: unknown, fields: object = {}): void {
    if (this.#now() - this.#loggedAt < INTERVAL_MS) {
      this.#notLogged += 1;
      return;
    }
    this.#logger?.error(
      { err: error, ...fields, not_logged: this.#notLogged },
      `${this.#what} failed`,
    );
    this.#loggedAt = this.#now();
    this.#notLogged = 0;
    this.#failing = true;
  }

  /** Call it after every success: only the first after a failure that was logged is worth a line. */
  succeeded(): void {
    if (!this.#failing) return;
    this.#failing = false;
    this.#logger?.info({ not_logged: this.#notLogged }, `${this.#what} works again`);
    this.#notLogged = 0;
  }
}

import type { Logger } from '../logger.ts';
import { OutageLog } from '../logger.ts';
import type { Store } from '../store/store.ts';

/** How often links are ranked, in milliseconds. */
export const RANK_INTERVAL_MS = 1_000;

/** Links that are ranked at a time: a few milliseconds of work in each second, however many links are clicked. */
export const RANKED_TOGETHER = 200;

/** Links that may wait at a time, some 10 MB. A link beyond that is ranked after one of its later clicks. */
const MAX_WAITING = 100_000;

/** How often waiting links are ranked when the process ends, at most. */
const STOP_RANKINGS = 10;

export interface LinkRankerOptions {
  store: Pick<Store, 'rankLinks'>;
  /** @default nothing is logged */
  logger?: Pick<Logger, 'error' | 'info'> | undefined;
}

/**
 * Keeps the lists of the most clicked links up to date, apart from the counting of clicks, which is ten times as frequent: a link that was
 * clicked a thousand times since its last turn is ranked once. After a crash, a link that waited is ranked when it is clicked again.
 */
export class LinkRanker {
  readonly #store: LinkRankerOptions['store'];
  readonly #outage: OutageLog;
  readonly #waiting = new Set<string>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<boolean> | undefined;

  constructor({ store, logger }: LinkRankerOptions) {
    this.#store = store;
    this.#outage = new OutageLog({ logger, what: 'ranking links by clicks' });
  }

  /** Clicks of these links were counted. */
  add(codes: Iterable<string>): void {
    for (const code of codes) {
      if (this.#waiting.size >= MAX_WAITING) return;
      this.#waiting.add(code);
    }
  }

  start(): void {
    this.#timer = setInterval(() => this.rank(), RANK_INTERVAL_MS);
    this.#timer.unref();
  }

  /** Ranks the links that wait longest. After a failure, which gives `false`, they wait for the next turn. */
  rank(): Promise<boolean> {
    this.#running ??= this.#rank().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  /** Ranks what waits, within bounds and until the first failure: each may take seconds. Call it when all clicks were counted. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#running;
    for (let turn = 0; turn < STOP_RANKINGS && this.#waiting.size > 0; turn += 1) {
      if (!(await this.rank())) return;
    }
  }

  async #rank(): Promise<boolean> {
    const codes: string[] = [];
    for (const code of this.#waiting) {
      this.#waiting.delete(code);
      if (codes.push(code) === RANKED_TOGETHER) break;
    }
    if (codes.length === 0) return true;
    try {
      await this.#store.rankLinks(codes);
      this.#outage.succeeded();
      return true;
    } catch (error) {
      this.add(codes);
      this.#outage.failed(error);
      return false;
    }
  }
}

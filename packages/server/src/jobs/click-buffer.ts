import { type Logger, OutageLog } from '../logger.ts';
import type { Store } from '../store/store.ts';

/**
 * How long a click waits before it is written, in milliseconds. A `kill -9` may cost the clicks of 500 ms: the rest of that is for the
 * write itself, which on a busy disk waits for the chunk of a job and then for its own commit.
 */
export const CLICK_FLUSH_MS = 100;

/** Codes of one write. Other writes wait some 10 ms for it. With fewer codes, there would be more commits, and each waits for the disk. */
const FLUSH_CODES = 2_000;

/**
 * Codes that are kept while nothing can be written, some 10 MB; the clicks of further codes are dropped, since the redirects
 * must continue however long the disk stays full.
 */
export const MAX_BUFFERED_CODES = 100_000;

/** Tries of the last flush before its clicks are given up, so that a broken disk doesn't stop the process from ending. */
const STOP_TRIES = 3;

export interface ClickBufferOptions {
  store: Pick<Store, 'addClicks'>;
  /** @default nothing is logged */
  logger?: Pick<Logger, 'error' | 'info'> | undefined;
  /** Receives the number of clicks that were given up. @default nothing happens */
  onDropped?: ((clicks: number) => void) | undefined;
  /** Receives the codes whose clicks were written. @default nothing happens */
  onCounted?: ((codes: Iterable<string>) => void) | undefined;
  /** @default CLICK_FLUSH_MS */
  flushMs?: number | undefined;
}

/**
 * Counts clicks in memory and adds them to the store in one write per {@link CLICK_FLUSH_MS}, since a redirect must not wait
 * for the disk. Clicks of a write that failed are kept for the next.
 */
export class ClickBuffer {
  readonly #store: ClickBufferOptions['store'];
  readonly #logger: ClickBufferOptions['logger'];
  readonly #outage: OutageLog;
  readonly #flushMs: number;
  readonly #onDropped: (clicks: number) => void;
  readonly #onCounted: (codes: Iterable<string>) => void;
  #clicks = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;
  #flushing: Promise<boolean> | undefined;

  constructor(options: ClickBufferOptions) {
    this.#store = options.store;
    this.#logger = options.logger;
    this.#outage = new OutageLog({ logger: options.logger, what: 'writing clicks' });
    this.#flushMs = options.flushMs ?? CLICK_FLUSH_MS;
    this.#onDropped = options.onDropped ?? (() => undefined);
    this.#onCounted = options.onCounted ?? (() => undefined);
  }

  /** Counts one click. */
  add(code: string): void {
    this.#count(code, 1);
    this.#flushLater();
  }

  /** Writes what was counted until now. Resolves to false when some of it could not be written; that is kept. */
  async flush(): Promise<boolean> {
    // A flush that is running does not contain the clicks that were counted since it began.
    await this.#flushing;
    this.#flushing ??= this.#write().finally(() => {
      this.#flushing = undefined;
    });
    return this.#flushing;
  }

  /** Writes the last clicks. Call it when no redirect can come any more. */
  async stop(): Promise<void> {
    for (let tries = 0; tries < STOP_TRIES; tries += 1) {
      if (await this.flush()) break;
    }
    clearTimeout(this.#timer);
    if (this.#clicks.size > 0) {
      const lost = [...this.#clicks.values()].reduce((sum, count) => sum + count, 0);
      this.#onDropped(lost);
      this.#logger?.error({ lost }, 'clicks lost: they could not be written before the end');
    }
  }

  #flushLater(): void {
    this.#timer ??= setTimeout(() => this.flush(), this.#flushMs);
  }

  async #write(): Promise<boolean> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const clicks = [...this.#clicks];
    this.#clicks = new Map();
    for (let start = 0; start < clicks.length; start += FLUSH_CODES) {
      try {
        const written = new Map(clicks.slice(start, start + FLUSH_CODES));
        await this.#store.addClicks(written);
        this.#onCounted(written.keys());
      } catch (error) {
        this.#outage.failed(error);
        this.#putBack(clicks.slice(start));
        return false;
      }
      this.#outage.succeeded();
    }
    return true;
  }

  #putBack(clicks: readonly [string, number][]): void {
    for (const [code, count] of clicks) {
      this.#count(code, count);
    }
    this.#flushLater();
  }

  #count(code: string, clicks: number): void {
    const before = this.#clicks.get(code);
    if (before === undefined && this.#clicks.size >= MAX_BUFFERED_CODES) this.#onDropped(clicks);
    else this.#clicks.set(code, (before ?? 0) + clicks);
  }
}

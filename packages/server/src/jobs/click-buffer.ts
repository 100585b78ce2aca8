import { chunksOf } from '../domain/chunks.ts';
import { newUuid } from '../domain/ids.ts';
import { type Logger, OutageLog } from '../logger.ts';
import type { ClickWrite } from '../store/store.ts';

/** How long a click waits, in milliseconds. A `kill -9` may cost those of 500 ms; a busy disk needs the rest of that for the write. */
export const CLICK_FLUSH_MS = 100;

/** Codes of one write. Other writes wait some 10 ms for it. With fewer codes, there would be more commits, and each waits for the disk. */
const FLUSH_CODES = 2_000;

/** Codes kept while nothing can be written, some 10 MB. The clicks of others are dropped: redirects continue however long the disk is full. */
export const MAX_BUFFERED_CODES = 100_000;

/** Flushes at a time: as many as begin while one takes 500 ms, two commits of a slow disk. So no click waits for a flush before its own. */
const FLUSHES_AT_A_TIME = 6;

/** Tries of the last flush before its clicks are given up, so that a broken disk doesn't stop the process from ending. */
const STOP_TRIES = 3;

export interface ClickBufferOptions {
  store: {
    addClicks: (clicks: ReadonlyMap<string, number>, write: ClickWrite) => Promise<void>;
  };
  logger?: Pick<Logger, 'error' | 'info'> | undefined;
  onDropped?: ((clicks: number) => void) | undefined;
  flushMs?: number | undefined;
  now?: (() => number) | undefined;
}

/** Writes that follow each other. A write that failed is repeated unchanged, under its number, before the next one. */
interface Series {
  writer: string;
  number: number;
  writes: ReadonlyMap<string, number>[];
  running: Promise<boolean> | undefined;
}

/** Counts clicks and adds them in one write per {@link CLICK_FLUSH_MS}. One that failed is repeated as it was; the store recognises it. */
export class ClickBuffer {
  readonly #options: ClickBufferOptions;
  readonly #outage: OutageLog;
  readonly #series: readonly Series[];
  #clicks = new Map<string, number>();
  #codesInWrites = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(options: ClickBufferOptions) {
    this.#options = options;
    this.#outage = new OutageLog('writing clicks', options.logger);
    this.#series = Array.from({ length: FLUSHES_AT_A_TIME }, () => {
      return { writer: newUuid(), number: 1, writes: [], running: undefined };
    });
  }

  add(code: string): void {
    const before = this.#clicks.get(code);
    if (before === undefined && this.#clicks.size + this.#codesInWrites >= MAX_BUFFERED_CODES) {
      this.#options.onDropped?.(1);
    } else this.#clicks.set(code, (before ?? 0) + 1);
    this.#flushLater();
  }

  /** Writes what was counted until now. Resolves to false when some of it is still unwritten; that is kept. */
  async flush(): Promise<boolean> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const free = this.#series.find(({ writes }) => writes.length === 0);
    if (free !== undefined) free.writes = this.#takeClicks();
    const done = await Promise.all(this.#series.map((series) => this.#run(series)));
    if (this.#clicks.size > 0 || done.includes(false)) this.#flushLater();
    return free !== undefined && !done.includes(false);
  }

  /** Writes the last clicks. Call it when no redirect can come any more. */
  async stop(): Promise<void> {
    const { onDropped, logger } = this.#options;
    for (let tries = 0; tries < STOP_TRIES; tries += 1) {
      if (await this.flush()) break;
    }
    clearTimeout(this.#timer);
    const unwritten = [this.#clicks, ...this.#series.flatMap(({ writes }) => writes)];
    const lost = unwritten.flatMap((clicks) => [...clicks.values()]).reduce((sum, n) => sum + n, 0);
    if (lost === 0) return;
    onDropped?.(lost);
    logger?.error({ lost }, 'clicks lost: they could not be written before the end');
  }

  #flushLater(): void {
    this.#timer ??= setTimeout(() => this.flush(), this.#options.flushMs ?? CLICK_FLUSH_MS);
  }

  #takeClicks(): Series['writes'] {
    const clicks = [...this.#clicks];
    this.#clicks = new Map();
    this.#codesInWrites += clicks.length;
    return chunksOf(clicks, FLUSH_CODES).map((some) => new Map(some));
  }

  async #run(series: Series): Promise<boolean> {
    if (series.writes.length > 0) series.running ??= this.#write(series);
    return series.running ?? true;
  }

  async #write(series: Series): Promise<boolean> {
    const { writer } = series;
    const { store, now = Date.now } = this.#options;
    try {
      for (let clicks = series.writes[0]; clicks !== undefined; clicks = series.writes[0]) {
        await store.addClicks(clicks, { writer, number: series.number, now: now() });
        series.number += 1;
        series.writes.shift();
        this.#codesInWrites -= clicks.size;
        this.#outage.succeeded();
      }
      return true;
    } catch (error) {
      this.#outage.failed(error);
      return false;
    } finally {
      series.running = undefined;
    }
  }
}

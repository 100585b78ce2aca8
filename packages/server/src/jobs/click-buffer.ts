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
export function clickBuffer(options: ClickBufferOptions) {
  const { store, logger, onDropped, flushMs = CLICK_FLUSH_MS, now = Date.now } = options;
  const outage = new OutageLog('writing clicks', logger);
  const allSeries = Array.from({ length: FLUSHES_AT_A_TIME }, (): Series => {
    return { writer: newUuid(), number: 1, writes: [], running: undefined };
  });
  let clicks = new Map<string, number>();
  let codesInWrites = 0;
  let timer: NodeJS.Timeout | undefined;

  function flushLater(): void {
    timer ??= setTimeout(flush, flushMs);
  }

  /** Writes what was counted until now. Resolves to false when some of it is still unwritten; that is kept. */
  async function flush(): Promise<boolean> {
    clearTimeout(timer);
    timer = undefined;
    const free = allSeries.find(({ writes }) => writes.length === 0);
    if (free !== undefined) {
      free.writes = chunksOf([...clicks], FLUSH_CODES).map((some) => new Map(some));
      codesInWrites += clicks.size;
      clicks = new Map();
    }
    const done = await Promise.all(allSeries.map(run));
    if (clicks.size > 0 || done.includes(false)) flushLater();
    return free !== undefined && !done.includes(false);
  }

  async function run(series: Series): Promise<boolean> {
    if (series.writes.length > 0) series.running ??= write(series);
    return series.running ?? true;
  }

  async function write(series: Series): Promise<boolean> {
    const { writer } = series;
    try {
      for (let [some] = series.writes; some !== undefined; [some] = series.writes) {
        await store.addClicks(some, { writer, number: series.number, now: now() });
        series.number += 1;
        series.writes.shift();
        codesInWrites -= some.size;
        outage.succeeded();
      }
      return true;
    } catch (error) {
      outage.failed(error);
      return false;
    } finally {
      series.running = undefined;
    }
  }

  return {
    add: (code: string) => {
      const before = clicks.get(code);
      if (before === undefined && clicks.size + codesInWrites >= MAX_BUFFERED_CODES) onDropped?.(1);
      else clicks.set(code, (before ?? 0) + 1);
      flushLater();
    },
    flush,
    /** Writes the last clicks. Call it when no redirect can come any more. */
    stop: async () => {
      for (let tries = 0; tries < STOP_TRIES; tries += 1) {
        if (await flush()) break;
      }
      clearTimeout(timer);
      const unwritten = [clicks, ...allSeries.flatMap(({ writes }) => writes)];
      const lost = unwritten.flatMap((some) => [...some.values()]).reduce((sum, n) => sum + n, 0);
      if (lost === 0) return;
      onDropped?.(lost);
      logger?.error({ lost }, 'clicks lost: they could not be written before the end');
    },
  };
}

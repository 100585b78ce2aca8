import type { QuotaWindow } from '@shortlink/sdk';
import { formatClock, formatCount, formatPercent, formatRate, plural, present } from '../format.ts';
import type { ImportEvent } from '../import/types.ts';
import { foreign, sanitize } from './sanitize.ts';
import type { Status } from './status-line.ts';

interface ProgressOptions {
  file: string;
  requestsPerMinute: number | undefined;
  requestCount: () => number;
}

/** What is known of a running import, and the line that says it. */
export class ImportProgress {
  readonly #options: ProgressOptions;
  #checking = { rows: 0, fraction: undefined as number | undefined };
  #valid = 0;
  /** Rows that will have their link when the run ends, and those that had it before: the bar counts both. */
  #rows: { total: number; before: number } | undefined;
  /** New rows that have an outcome. */
  #done = 0;
  /** When sending began. An earlier run says nothing about the speed of this one. */
  #start: { at: number; requests: number } | undefined;
  readonly #jobs = new Map<string, Record<'first' | 'count' | 'processed', number>>();
  /** The quota as the service last reported it. */
  #quota: { at: number; windows: readonly QuotaWindow[] } | undefined;
  #wait: { until: number; error: string | undefined } | undefined;
  #stopping = false;
  /** What the run does besides sending. */
  #task: 'checking' | 'comparing' | 'reporting' | undefined = 'checking';

  constructor(options: ProgressOptions) {
    this.#options = options;
  }

  onEvent(event: ImportEvent, now: number): void {
    switch (event.type) {
      case 'validating': {
        const { rows, bytesRead, bytesTotal } = event;
        this.#checking = { rows, fraction: bytesTotal ? bytesRead / bytesTotal : undefined };
        break;
      }
      case 'validated':
        this.#valid = event.rows - event.rejected;
        this.#checking = { rows: event.rows, fraction: undefined };
        this.#task = 'comparing';
        break;
      case 'reporting':
        this.#task = 'reporting';
        break;
      case 'compared':
        this.#task = undefined;
        this.#rows = { total: this.#valid, before: event.existing };
        break;
      case 'sending':
        this.#task = undefined;
        this.#rows = { total: event.existing + event.links, before: event.existing };
        this.#done = 0;
        this.#jobs.clear();
        this.#start = { at: now, requests: this.#options.requestCount() };
        break;
      case 'batch-accepted':
        this.#jobs.set(event.jobId, { first: event.first, count: event.count, processed: 0 });
        break;
      case 'job-progress': {
        const job = this.#jobs.get(event.jobId);
        if (job !== undefined) job.processed = event.processed;
        break;
      }
      case 'rows-done':
        this.#done = event.done;
        for (const [id, job] of this.#jobs) {
          if (job.first + job.count <= event.done) this.#jobs.delete(id);
        }
        break;
    }
  }

  /** A rate limit, or an `error` after which a request is sent again. Of several waits, the longest counts. */
  onWait({ ms, error }: { ms: number; error?: string | undefined }, now: number): void {
    const until = now + ms;
    if (this.#wait === undefined || until > this.#wait.until)
      this.#wait = { until, error: error && foreign(error) };
  }

  onQuota(windows: readonly QuotaWindow[], now: number): void {
    if (windows.length > 0) this.#quota = { at: now, windows };
  }

  /** After the first Ctrl-C. Returns what the run still does. */
  onStopping(): string {
    this.#stopping = true;
    if (this.#task === undefined) return 'Stopping after the batches in flight.';
    return this.#task === 'reporting' ? 'The results are still being written.' : 'Stopping.';
  }

  status(now: number): Status {
    if (this.#rows === undefined || this.#task !== undefined) return this.#taskStatus();
    const { total, before } = this.#rows;
    const done = Math.min(total, before + this.#doneWithJobs());
    const speed = this.#speed(now);
    const [job] = this.#jobs.values();
    const { until = now, error } = this.#wait ?? {};
    const waitMs = Math.max(0, until - now);
    const leftMs = speed && total > done ? Math.max(speed.leftMs, waitMs) : undefined;
    const waiting = error === undefined ? 'rate limit: next in' : 'trying again in';
    const parts: ReadonlyArray<readonly [text: string | false | undefined, rank: number]> = [
      [`${formatCount(done)} / ${plural(total, 'row')}`, 3],
      [speed && `${formatRate(speed.perSecond)}/s`, 5],
      [job && `job ${formatCount(job.processed)} / ${formatCount(job.count)}`, 6],
      [this.#stopping && 'stopping', 1],
      [waitMs > 0 && `${waiting} ${formatClock(waitMs)}`, 1],
      [leftMs !== undefined && `${formatClock(leftMs)} left`, 2],
      [waitMs > 0 && error, 7],
    ];
    return {
      ...{ task: 'import', name: this.#options.file, done, total },
      ...{ wait_ms: waitMs, left_ms: leftMs === undefined ? null : Math.round(leftMs) },
      parts: parts.flatMap(([text, rank]) => (text ? [[text, rank] as const] : [])),
    };
  }

  #taskStatus(): Status {
    const { rows, fraction } = this.#checking;
    const { file } = this.#options;
    const name = file === '-' ? 'standard input' : sanitize(file);
    const words = {
      checking: `Checking ${name}`,
      comparing: 'Comparing with the links that exist',
      reporting: 'Writing the results',
    };
    const texts = present(
      words[this.#task ?? 'checking'],
      rows > 0 && plural(rows, 'row'),
      fraction !== undefined && formatPercent(fraction),
    );
    const parts = texts.map((text, index) => [text, 2 - index] as const);
    return { task: 'check', name: file, done: rows, total: null, parts };
  }

  /** New rows done, and those that jobs in flight report: a bar that moves within a batch of 10,000. */
  #doneWithJobs(): number {
    let inJobs = 0;
    for (const { first, processed } of this.#jobs.values()) {
      inJobs += Math.max(0, processed - Math.max(0, this.#done - first));
    }
    return this.#done + inJobs;
  }

  /** Undefined while there is too little to measure. */
  #speed(now: number): { perSecond: number; leftMs: number } | undefined {
    const start = this.#start;
    const done = this.#doneWithJobs();
    if (start === undefined || done === 0 || now - start.at < MIN_MEASURED_MS) return undefined;
    const { total = 0, before = 0 } = this.#rows ?? {};
    const rowsLeft = Math.max(0, total - before - done);
    const perMs = done / (now - start.at);
    const requestsLeft = (rowsLeft * (this.#options.requestCount() - start.requests)) / done;
    const { requestsPerMinute = Number.POSITIVE_INFINITY } = this.#options;
    const measured = Math.max(rowsLeft / perMs, (requestsLeft * 60_000) / requestsPerMinute);
    return { perSecond: perMs * 1000, leftMs: this.#quotaMs(requestsLeft, now) || measured };
  }

  /** Time until the last window begins that so many requests need; 0 where there is room for all. */
  #quotaMs(requests: number, now: number): number {
    const { at = now, windows = [] } = this.#quota ?? {};
    const waits = windows.map(({ remaining, resetMs, quota = 0, windowMs = 0 }) => {
      if (requests <= remaining || quota <= 0) return 0;
      const windowsBetween = Math.ceil((requests - remaining) / quota) - 1;
      return Math.max(0, resetMs - (now - at)) + windowsBetween * windowMs;
    });
    return Math.max(0, ...waits);
  }
}

/** A rate of less than this would be noise. */
const MIN_MEASURED_MS = 500;

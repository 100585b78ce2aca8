import type { QuotaWindow } from '@shortlink/sdk';
import type { ImportEvent } from '../import/types.ts';
import { bar, formatClock, formatCount, formatRate, plural } from './format.ts';

const BAR_WIDTH = 20;

interface JobProgress {
  first: number;
  count: number;
  processed: number;
}

/**
 * What is known of a running import, and the one line that says it. Pure: events and the time come in, text goes out.
 */
export class ImportProgress {
  readonly #file: string;
  readonly #requestsPerMinute: number | undefined;
  readonly #requestCount: () => number;
  #checking = { rows: 0, fraction: undefined as number | undefined };
  #rows: { done: number; total: number; settled: number } | undefined;
  /** Where counting began: rows that an earlier run did say nothing about this run's speed. */
  #start: { at: number; done: number; requests: number } | undefined;
  readonly #jobs = new Map<string, JobProgress>();
  /** What the service last said about its quota, and when. */
  #quota: { at: number; windows: readonly QuotaWindow[] } | undefined;
  #wait: { until: number; why: string } | undefined;
  #stopping = false;

  constructor(options: {
    file: string;
    requestsPerMinute: number | undefined;
    requestCount: () => number;
  }) {
    this.#file = options.file;
    this.#requestsPerMinute = options.requestsPerMinute;
    this.#requestCount = options.requestCount;
  }

  onEvent(event: ImportEvent, now: number): void {
    switch (event.type) {
      case 'validating': {
        const { rows, bytesRead, bytesTotal } = event;
        this.#checking = { rows, fraction: bytesTotal ? bytesRead / bytesTotal : undefined };
        break;
      }
      case 'validated':
        this.#rows = { done: 0, total: event.rows, settled: 0 };
        this.#start = { at: now, done: 0, requests: this.#requestCount() };
        break;
      case 'compared':
        this.#rows = { done: 0, total: event.new, settled: 0 };
        break;
      case 'batch-accepted':
        this.#jobs.set(event.jobId, { first: event.first, count: event.count, processed: 0 });
        break;
      case 'job-progress': {
        const job = this.#jobs.get(event.jobId);
        if (job !== undefined) {
          job.processed = event.processed;
        }
        break;
      }
      case 'rows-done':
        this.#settle(event.done, event.total, event.created + event.failed + event.unknown);
        break;
    }
  }

  /** Nothing is sent for a while. */
  onWait(why: string, waitMs: number, now: number): void {
    const until = now + waitMs;
    if (this.#wait === undefined || until > this.#wait.until) {
      this.#wait = { until, why };
    }
  }

  /** A response says how much of the quota is left. */
  onQuota(windows: readonly QuotaWindow[], now: number): void {
    if (windows.length > 0) this.#quota = { at: now, windows };
  }

  /** After the first Ctrl-C. */
  onStopping(): void {
    this.#stopping = true;
  }

  line(now: number): string {
    if (this.#rows === undefined) {
      const { rows, fraction } = this.#checking;
      const percent = fraction === undefined ? '' : ` (${percentOf(fraction)})`;
      return `Checking ${this.#file}${rows === 0 ? '' : `: ${plural(rows, 'row')}${percent}`}`;
    }
    const { total } = this.#rows;
    const done = this.#doneWithJobs();
    const fraction = total === 0 ? 1 : done / total;
    return [
      `${bar(fraction, BAR_WIDTH)} ${percentOf(fraction)}`,
      `${formatCount(done)} of ${plural(total, 'row')}`,
      ...this.#speed(done, now),
      ...this.#currentJob(),
      ...this.#waiting(now),
      ...(this.#stopping ? ['stopping after the batches in flight'] : []),
    ].join(', ');
  }

  #settle(done: number, total: number, settled: number): void {
    this.#rows = { done, total, settled };
    for (const [id, job] of this.#jobs) {
      if (job.first + job.count <= settled) {
        this.#jobs.delete(id);
      }
    }
  }

  /** Rows done, and those that jobs in flight report as processed: a bar that moves within a batch of 10,000. */
  #doneWithJobs(): number {
    const { done = 0, total = 0, settled = 0 } = this.#rows ?? {};
    let inJobs = 0;
    for (const { first, processed } of this.#jobs.values()) {
      inJobs += Math.max(0, processed - Math.max(0, settled - first));
    }
    return Math.min(total, done + inJobs);
  }

  #speed(done: number, now: number): string[] {
    const start = this.#start;
    const total = this.#rows?.total ?? 0;
    if (start === undefined || done <= start.done || now - start.at < MIN_MEASURED_MS) return [];
    const perMs = (done - start.done) / (now - start.at);
    const measured = (total - done) / perMs;
    const requestsLeft =
      ((total - done) * (this.#requestCount() - start.requests)) / (done - start.done);
    const left = this.#quotaMs(requestsLeft, now) || Math.max(measured, this.#paceMs(requestsLeft));
    return [
      `${formatRate(perMs * 1000)} rows/s`,
      ...(done < total ? [`ETA ${formatClock(left)}`] : []),
    ];
  }

  /** Time that so many requests take at the pace of `--rpm`. */
  #paceMs(requests: number): number {
    return this.#requestsPerMinute === undefined
      ? 0
      : (requests * 60_000) / this.#requestsPerMinute;
  }

  /** Time until the last window begins that so many requests need; 0 where those at hand have room for all. */
  #quotaMs(requests: number, now: number): number {
    const { at = now, windows = [] } = this.#quota ?? {};
    const waits = windows.map(({ remaining, resetMs, quota = 0, windowMs = 0 }) => {
      if (requests <= remaining || quota <= 0) return 0;
      const windowsBetween = Math.ceil((requests - remaining) / quota) - 1;
      return Math.max(0, resetMs - (now - at)) + windowsBetween * windowMs;
    });
    return Math.max(0, ...waits);
  }

  #currentJob(): string[] {
    const [job] = this.#jobs.values();
    return job === undefined
      ? []
      : [`job ${formatCount(job.processed)} of ${formatCount(job.count)}`];
  }

  #waiting(now: number): string[] {
    if (this.#wait === undefined || this.#wait.until <= now) return [];
    return [`${this.#wait.why} ${formatClock(this.#wait.until - now)}`];
  }
}

/** A rate of less than this would be noise. */
const MIN_MEASURED_MS = 500;

function percentOf(fraction: number): string {
  return `${Math.floor(Math.min(1, fraction) * 100)}%`;
}

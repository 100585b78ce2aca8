import type { QuotaWindow } from '@shortlink/sdk';
import {
  formatClock,
  formatCount,
  formatDuration,
  formatEstimate,
  formatPercent,
  formatRate,
  plural,
} from '../format.ts';
import type { ImportEvent } from '../import/types.ts';
import { foreign, sanitize } from './sanitize.ts';
import type { Status } from './status-line.ts';

interface JobProgress {
  first: number;
  count: number;
  processed: number;
}

/** Why nothing is sent for a while: a rate limit, or an error after which the request is sent again. */
export interface Wait {
  ms: number;
  /** Undefined for a rate limit. */
  error?: string | undefined;
}

/**
 * What is known of a running import, and the one line that says it. Pure: events and the time come in, a status goes out.
 */
export class ImportProgress {
  readonly #name: string;
  readonly #requestsPerMinute: number | undefined;
  readonly #requestCount: () => number;
  #checking = { rows: 0, fraction: undefined as number | undefined };
  #valid = 0;
  /** Rows that will have their link when the run ends, and how many of them had it before: the bar counts both. */
  #rows: { total: number; before: number } | undefined;
  /** New rows that have an outcome. */
  #done = 0;
  /** When sending began. What an earlier run did says nothing about the speed of this one. */
  #start: { at: number; requests: number } | undefined;
  readonly #jobs = new Map<string, JobProgress>();
  /** What the service last said about its quota, and when. */
  #quota: { at: number; windows: readonly QuotaWindow[] } | undefined;
  #wait: { until: number; error: string | undefined } | undefined;
  #stopping = false;
  /** What the run does besides sending. */
  #task: 'checking' | 'comparing' | 'reporting' | undefined = 'checking';

  constructor(options: {
    file: string;
    requestsPerMinute: number | undefined;
    requestCount: () => number;
  }) {
    this.#name = options.file;
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
        this.#start = { at: now, requests: this.#requestCount() };
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

  /** Nothing is sent for a while. Of several waits, the longest counts. */
  onWait({ ms, error }: Wait, now: number): void {
    const until = now + ms;
    if (this.#wait === undefined || until > this.#wait.until)
      this.#wait = { until, error: error && foreign(error) };
  }

  /** A response says how much of the quota is left. */
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
    const fraction = total === 0 ? 1 : done / total;
    const speed = this.#speed(now);
    const [job] = this.#jobs.values();
    const waitMs = Math.max(0, (this.#wait?.until ?? now) - now);
    const error = this.#wait?.error;
    const left = speed && total > done ? Math.max(speed.leftMs, waitMs) : undefined;
    const waiting = (time: string) =>
      error === undefined ? `rate limit: next in ${time}` : `trying again in ${time}`;
    return {
      fraction,
      parts: [
        { text: formatPercent(fraction).padStart(4), rank: 0 },
        { text: `${formatCount(done)} / ${formatCount(total)}`, rank: 3 },
        ...(speed ? [{ text: `${formatRate(speed.perSecond)} rows/s`, rank: 5 }] : []),
        ...(job
          ? [{ text: `job ${formatCount(job.processed)} / ${formatCount(job.count)}`, rank: 6 }]
          : []),
        ...(this.#stopping ? [{ text: 'stopping', rank: 1 }] : []),
        ...(waitMs > 0 ? [{ text: waiting(formatClock(waitMs)), rank: 1 }] : []),
        ...(left === undefined ? [] : [{ text: `${formatClock(left)} left`, rank: 2 }]),
        ...(waitMs > 0 && error !== undefined ? [{ text: error, rank: 7 }] : []),
      ],
      plain: [
        `${formatCount(done)} of ${plural(total, 'row')} (${formatPercent(fraction)})`,
        ...(this.#stopping ? ['stopping'] : []),
        ...(waitMs > 0 ? [waiting(formatDuration(Math.ceil(waitMs / 1000) * 1000))] : []),
        ...(waitMs > 0 && error !== undefined ? [error] : []),
        ...(left === undefined ? [] : [`about ${formatEstimate(left)} left`]),
      ],
      json: {
        task: 'import',
        name: this.#name,
        done,
        total,
        wait_ms: waitMs,
        left_ms: left === undefined ? null : Math.round(left),
      },
    };
  }

  #taskStatus(): Status {
    const { rows, fraction } = this.#checking;
    const name = this.#name === '-' ? 'standard input' : sanitize(this.#name);
    const words = {
      checking: `Checking ${name}`,
      comparing: 'Comparing with the links that exist',
      reporting: 'Writing the results',
    };
    const parts = [
      words[this.#task ?? 'checking'],
      ...(rows === 0 ? [] : [plural(rows, 'row')]),
      ...(fraction === undefined ? [] : [formatPercent(fraction)]),
    ];
    return {
      parts: parts.map((text, index) => ({ text, rank: 2 - index })),
      plain: parts,
      json: { task: 'check', name: this.#name, done: rows, total: null, wait_ms: 0, left_ms: null },
    };
  }

  /** New rows done, and those that jobs in flight report as processed: a bar that moves within a batch of 10,000. */
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
    const requestsLeft = (rowsLeft * (this.#requestCount() - start.requests)) / done;
    const measured = Math.max(rowsLeft / perMs, this.#paceMs(requestsLeft));
    return { perSecond: perMs * 1000, leftMs: this.#quotaMs(requestsLeft, now) || measured };
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
}

/** A rate of less than this would be noise. */
const MIN_MEASURED_MS = 500;

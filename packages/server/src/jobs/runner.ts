import { type Logger, OutageLog } from '../logger.ts';
import type { Store } from '../store/store.ts';
import { repeated } from './repeated.ts';

/** Wait before a failed chunk is tried again: doubled with every failure in a row, up to the second value, in milliseconds. */
const RETRY_MS = { first: 200, most: 30_000 } as const;

/** Chunks that run at a time: one begins while the outcome of the other is on its way. With more, a new job waits longer for its turn. */
const CHUNKS_AT_A_TIME = 2;

/** How often unfinished jobs are looked for, in milliseconds: within this time, those of an instance that was killed continue on another. */
export const RESCAN_MS = 1_000;

export interface JobRunnerOptions {
  store: Pick<Store, 'pendingJobs' | 'runJobChunk'>;
  logger?: Pick<Logger, 'error' | 'info'> | undefined;
  /** Receives how many links a chunk created, and when it began, by `performance.now()`. */
  onLinksCreated?: ((links: number, startedAt: number) => void) | undefined;
  now?: (() => number) | undefined;
}

/** A job whose last chunk failed; the timer runs until the next try. */
type Failing = { failures: number; timer?: NodeJS.Timeout | undefined };

/** Runs chunks of the oldest job and of all in turns, so that small jobs are done soon. A chunk is a transaction that locks its job: instances share the work. */
export class JobRunner {
  readonly #options: JobRunnerOptions;
  readonly #chunkLog: OutageLog;
  readonly #scans: ReturnType<typeof repeated>;
  /** Jobs that have chunks left, as far as we know, in the order of their turns. */
  readonly #queue = new Set<string>();
  readonly #failing = new Map<string, Failing>();
  readonly #running = new Set<Promise<void>>();
  /** Unfinished jobs: those of other instances as of the last look. */
  pendingJobs = 0;
  #chunks = 0;
  #stopped = false;

  constructor(options: JobRunnerOptions) {
    const { logger } = options;
    this.#options = options;
    this.#chunkLog = new OutageLog('running a job', logger);
    this.#scans = repeated({
      act: () => this.#findJobs(),
      ...{ everyMs: RESCAN_MS, what: 'looking for unfinished jobs', logger },
    });
  }

  /** Takes up the unfinished jobs. Rejects when the store can't be read. */
  async start(): Promise<void> {
    await this.#findJobs();
    this.#scans.startLater();
  }

  /** Adds a job that was just accepted, so that it doesn't wait for the next scan of the store. */
  notify(jobId: string): void {
    if (!this.#queue.has(jobId)) this.pendingJobs += 1;
    this.#add(jobId);
  }

  #add(jobId: string): void {
    if (this.#stopped || this.#waitsForRetry(jobId)) return;
    this.#queue.add(jobId);
    this.#runChunks();
  }

  /** Finishes the chunks that run, and starts no other. What is left is done by another instance, or after the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const { timer } of this.#failing.values()) clearTimeout(timer);
    await Promise.all([this.#scans.stop(), ...this.#running]);
  }

  async #findJobs(): Promise<void> {
    const jobs = await this.#options.store.pendingJobs();
    this.pendingJobs = jobs.length;
    for (const jobId of jobs) this.#add(jobId);
  }

  #waitsForRetry(jobId: string): boolean {
    return this.#failing.get(jobId)?.timer !== undefined;
  }

  #runChunks(): void {
    while (!this.#stopped && this.#running.size < CHUNKS_AT_A_TIME) {
      this.#chunks += 1;
      const inTurn = [...this.#queue];
      // Ids of jobs begin with the time.
      const [jobId] = this.#chunks % 2 === 0 ? inTurn.sort() : inTurn;
      if (jobId === undefined) return;
      // The other jobs have their turns before its next one.
      this.#queue.delete(jobId);
      this.#queue.add(jobId);
      const chunk = this.#runChunk(jobId).then(() => {
        this.#running.delete(chunk);
        this.#runChunks();
      });
      this.#running.add(chunk);
    }
  }

  async #runChunk(jobId: string): Promise<void> {
    const { store, onLinksCreated, now = Date.now } = this.#options;
    const startedAt = performance.now();
    try {
      const { created, done, busy = false } = await store.runJobChunk(jobId, now());
      if (created > 0) onLinksCreated?.(created, startedAt);
      const failing = this.#failing.get(jobId);
      if (failing !== undefined) failing.failures = 0;
      if (done && this.#queue.has(jobId)) this.pendingJobs -= 1;
      // Another instance works on it, and perhaps to its end. Should that one stop, the next look at the store brings the job back here.
      if (done || busy) {
        this.#queue.delete(jobId);
        clearTimeout(failing?.timer);
        this.#failing.delete(jobId);
      }
      if (this.#failing.size === 0) this.#chunkLog.succeeded();
    } catch (error) {
      this.#queue.delete(jobId);
      // Its other chunk may have failed just before, for the same reason.
      if (!this.#waitsForRetry(jobId)) this.#retryLater(jobId, error);
    }
  }

  /** Other jobs continue meanwhile: one that can't be run must not hold them up. */
  #retryLater(jobId: string, error: unknown): void {
    const failures = (this.#failing.get(jobId)?.failures ?? 0) + 1;
    const retryMs = Math.min(RETRY_MS.first * 2 ** (failures - 1), RETRY_MS.most);
    this.#chunkLog.failed(error, { jobId, failures, retryMs });
    if (this.#stopped) return;
    const failing: Failing = { failures };
    failing.timer = setTimeout(() => {
      failing.timer = undefined;
      this.#add(jobId);
    }, retryMs);
    this.#failing.set(jobId, failing);
  }
}

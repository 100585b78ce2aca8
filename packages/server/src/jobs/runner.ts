import type { Logger } from '../logger.ts';
import type { Store } from '../store/store.ts';

/** Wait before a failed chunk is tried again: doubled with every failure in a row, up to the second value, in milliseconds. */
const RETRY_MS = { first: 200, most: 30_000 } as const;

/**
 * Chunks that the store has in hand at a time: it begins one while our answer to the last is still on its way. More would
 * only make a job that is told of now wait longer for its turn.
 */
const CHUNKS_IN_HAND = 2;

/** How often the store is asked for jobs that nobody told us of, in milliseconds. */
const RESCAN_MS = 60_000;

export interface JobRunnerOptions {
  store: Pick<Store, 'pendingJobs' | 'runJobChunk'>;
  /** @default nothing is logged */
  logger?: Pick<Logger, 'error'> | undefined;
  /** Told how many links a chunk created. @default nobody is told */
  onLinksCreated?: ((links: number) => void) | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  now?: (() => number) | undefined;
}

interface Failing {
  /** Since the last success. */
  failures: number;
  /** Runs until the next try. */
  timer: NodeJS.Timeout | undefined;
}

/**
 * Runs accepted jobs, a few chunks at a time and in turns: a small job that comes after ten large ones is done after a chunk of
 * each, and requests get their turn between chunks. It holds no state that matters: after a crash, {@link start} finds the
 * unfinished jobs in the store.
 */
export class JobRunner {
  readonly #store: JobRunnerOptions['store'];
  readonly #logger: JobRunnerOptions['logger'];
  readonly #now: () => number;
  readonly #onLinksCreated: (links: number) => void;
  /** Jobs that have chunks left, as far as we know; the first is next, and goes to the end. */
  readonly #queue: string[] = [];
  /** Jobs that failed and are not done yet. */
  readonly #failing = new Map<string, Failing>();
  readonly #running = new Set<Promise<void>>();
  #rescan: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(options: JobRunnerOptions) {
    this.#store = options.store;
    this.#logger = options.logger;
    this.#now = options.now ?? Date.now;
    this.#onLinksCreated = options.onLinksCreated ?? (() => undefined);
  }

  /** Takes up the unfinished jobs of an earlier run. */
  async start(): Promise<void> {
    await this.#findJobs();
    // Covers a job that was stored, but whose acceptance got lost on its way back to us.
    this.#rescan = setInterval(() => {
      this.#findJobs().catch((error: unknown) => {
        this.#logger?.error({ err: error }, 'unfinished jobs could not be listed');
      });
    }, RESCAN_MS);
    this.#rescan.unref();
  }

  /** Puts a job in line. A job that is in line already, or done, costs nothing. */
  notify(jobId: string): void {
    if (this.#stopped || this.#knows(jobId)) return;
    this.#queue.push(jobId);
    this.#runChunks();
  }

  /** Finishes the chunks that run, and starts no other. What is left is done after the next {@link start}. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#rescan);
    for (const { timer } of this.#failing.values()) clearTimeout(timer);
    await Promise.all(this.#running);
  }

  async #findJobs(): Promise<void> {
    for (const jobId of await this.#store.pendingJobs()) this.notify(jobId);
  }

  #knows(jobId: string): boolean {
    return this.#queue.includes(jobId) || this.#waitsForRetry(jobId);
  }

  #waitsForRetry(jobId: string): boolean {
    return this.#failing.get(jobId)?.timer !== undefined;
  }

  #runChunks(): void {
    while (!this.#stopped && this.#running.size < CHUNKS_IN_HAND) {
      const jobId = this.#queue.shift();
      if (jobId === undefined) return;
      this.#queue.push(jobId);
      const chunk = this.#runChunk(jobId).then(() => {
        this.#running.delete(chunk);
        this.#runChunks();
      });
      this.#running.add(chunk);
    }
  }

  #forget(jobId: string): void {
    this.#leaveQueue(jobId);
    clearTimeout(this.#failing.get(jobId)?.timer);
    this.#failing.delete(jobId);
  }

  #leaveQueue(jobId: string): void {
    const place = this.#queue.indexOf(jobId);
    if (place !== -1) this.#queue.splice(place, 1);
  }

  async #runChunk(jobId: string): Promise<void> {
    try {
      const { created, done } = await this.#store.runJobChunk(jobId, this.#now());
      if (created > 0) this.#onLinksCreated(created);
      const failing = this.#failing.get(jobId);
      if (failing !== undefined) failing.failures = 0;
      if (done) this.#forget(jobId);
    } catch (error) {
      this.#leaveQueue(jobId);
      // Its other chunk may have failed just before, of the same cause.
      if (!this.#waitsForRetry(jobId)) this.#retryLater(jobId, error);
    }
  }

  /** Other jobs go on meanwhile: one that can't be run must not hold them up. */
  #retryLater(jobId: string, error: unknown): void {
    const failures = (this.#failing.get(jobId)?.failures ?? 0) + 1;
    const retryMs = Math.min(RETRY_MS.first * 2 ** (failures - 1), RETRY_MS.most);
    this.#logger?.error({ err: error, jobId, failures, retryMs }, 'job chunk failed');
    if (this.#stopped) return;
    const failing: Failing = { failures, timer: undefined };
    failing.timer = setTimeout(() => {
      failing.timer = undefined;
      this.notify(jobId);
    }, retryMs);
    this.#failing.set(jobId, failing);
  }
}

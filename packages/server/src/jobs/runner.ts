import type { Logger } from '../logger.ts';
import type { Store } from '../store/store.ts';

/** Wait before a failed chunk is tried again: doubled with every failure in a row, up to the second value, in milliseconds. */
const RETRY_MS = { first: 200, most: 30_000 } as const;

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

/**
 * Runs accepted jobs, one chunk at a time and in turns: a small job that comes after ten large ones is done after a chunk of each,
 * and requests get their turn between chunks. It holds no state that matters: after a crash, {@link start} finds the
 * unfinished jobs in the store.
 */
export class JobRunner {
  readonly #store: JobRunnerOptions['store'];
  readonly #logger: JobRunnerOptions['logger'];
  readonly #now: () => number;
  readonly #onLinksCreated: (links: number) => void;
  /** Jobs whose next chunk may run now; the first is next, and goes to the end after it. */
  readonly #queue: string[] = [];
  /** Failures in a row, and the timer of jobs that wait for their next try. */
  readonly #failing = new Map<string, { failures: number; timer: NodeJS.Timeout | undefined }>();
  #current: string | undefined;
  #loop: Promise<void> | undefined;
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
    this.#loop ??= this.#run();
  }

  /** Finishes the chunk that runs, and starts no other. What is left is done after the next {@link start}. */
  async stop(): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#rescan);
    for (const { timer } of this.#failing.values()) clearTimeout(timer);
    await this.#loop;
  }

  async #findJobs(): Promise<void> {
    for (const jobId of await this.#store.pendingJobs()) this.notify(jobId);
  }

  #knows(jobId: string): boolean {
    return (
      this.#current === jobId ||
      this.#queue.includes(jobId) ||
      this.#failing.get(jobId)?.timer !== undefined
    );
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      const jobId = this.#queue.shift();
      if (jobId === undefined) break;
      this.#current = jobId;
      await this.#runChunk(jobId);
      this.#current = undefined;
    }
    this.#loop = undefined;
  }

  async #runChunk(jobId: string): Promise<void> {
    try {
      const { created, done } = await this.#store.runJobChunk(jobId, this.#now());
      if (created > 0) this.#onLinksCreated(created);
      this.#failing.delete(jobId);
      if (!done) this.#queue.push(jobId);
    } catch (error) {
      this.#retryLater(jobId, error);
    }
  }

  /** Other jobs go on meanwhile: one that can't be run must not hold them up. */
  #retryLater(jobId: string, error: unknown): void {
    const failures = (this.#failing.get(jobId)?.failures ?? 0) + 1;
    const retryMs = Math.min(RETRY_MS.first * 2 ** (failures - 1), RETRY_MS.most);
    this.#logger?.error({ err: error, jobId, failures, retryMs }, 'job chunk failed');
    if (this.#stopped) return;
    const timer = setTimeout(() => {
      this.#failing.set(jobId, { failures, timer: undefined });
      this.notify(jobId);
    }, retryMs);
    this.#failing.set(jobId, { failures, timer });
  }
}

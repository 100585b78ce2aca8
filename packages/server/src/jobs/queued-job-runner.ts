import type { Logger } from '../logger.ts';
import type { JobQueue, Store } from '../store/store.ts';

/** During an outage every attempt to ask for a job fails: one log line in this time says it, in milliseconds. */
const LOG_INTERVAL_MS = 10_000;

export interface QueuedJobRunnerOptions {
  store: Pick<Store, 'runJobChunk'>;
  queue: JobQueue;
  /** @default nothing is logged */
  logger?: Pick<Logger, 'error'> | undefined;
  /** Told how many links a chunk created. @default nobody is told */
  onLinksCreated?: ((links: number) => void) | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  now?: (() => number) | undefined;
}

/**
 * Runs the jobs that a queue hands to this instance, chunk by chunk. It holds no state: whoever is handed a job goes on after
 * its last committed chunk.
 */
export class QueuedJobRunner {
  readonly #options: QueuedJobRunnerOptions;
  #loggedAt = Number.NEGATIVE_INFINITY;

  constructor(options: QueuedJobRunnerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#options.queue.work(
      (jobId, signal) => this.#run(jobId, signal),
      (error) => this.#logSeldom(error),
    );
  }

  /** Nothing to do: the queue is told of a job by the transaction that accepts it. */
  notify(_jobId: string): void {}

  /** Finishes the chunks that run, and hands their jobs back. */
  async stop(): Promise<void> {
    await this.#options.queue.stop();
  }

  #logSeldom(error: unknown): void {
    const { logger, now = Date.now } = this.#options;
    if (now() - this.#loggedAt < LOG_INTERVAL_MS) return;
    this.#loggedAt = now();
    logger?.error({ err: error }, 'the job queue failed; it goes on');
  }

  async #run(jobId: string, signal: AbortSignal): Promise<void> {
    const { store, logger, onLinksCreated, now = Date.now } = this.#options;
    try {
      for (;;) {
        signal.throwIfAborted();
        const { created, done } = await store.runJobChunk(jobId, now());
        if (created > 0) onLinksCreated?.(created);
        if (done) return;
      }
    } catch (error) {
      if (!signal.aborted) logger?.error({ err: error, jobId }, 'job chunk failed');
      throw error;
    }
  }
}

import type { Logger } from '../logger.ts';
import type { JobQueue, Store } from '../store/store.ts';

export interface QueuedJobRunnerOptions {
  store: Pick<Store, 'runJobChunk'>;
  queue: JobQueue;
  /** @default nothing is logged */
  logger?: Pick<Logger, 'error'> | undefined;
  /** Milliseconds since the epoch. @default Date.now */
  now?: (() => number) | undefined;
}

/**
 * Runs the jobs that a queue hands to this instance, chunk by chunk. It holds no state: whoever is handed a job goes on after
 * its last committed chunk.
 */
export class QueuedJobRunner {
  readonly #options: QueuedJobRunnerOptions;

  constructor(options: QueuedJobRunnerOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const { queue, logger } = this.#options;
    await queue.work(
      (jobId, signal) => this.#run(jobId, signal),
      (error) => logger?.error({ err: error }, 'the job queue failed; it goes on'),
    );
  }

  /** Nothing to do: the queue is told of a job by the transaction that accepts it. */
  notify(_jobId: string): void {}

  /** Finishes the chunks that run, and hands their jobs back. */
  async stop(): Promise<void> {
    await this.#options.queue.stop();
  }

  async #run(jobId: string, signal: AbortSignal): Promise<void> {
    const { store, logger, now = Date.now } = this.#options;
    try {
      for (;;) {
        signal.throwIfAborted();
        const { done } = await store.runJobChunk(jobId, now());
        if (done) return;
      }
    } catch (error) {
      if (!signal.aborted) logger?.error({ err: error, jobId }, 'job chunk failed');
      throw error;
    }
  }
}

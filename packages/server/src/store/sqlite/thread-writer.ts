import { Worker } from 'node:worker_threads';
import { StoreError } from '../store-error.ts';
import type { Args, OperationName, Output } from './operations/operations.ts';
import { PendingWrites } from './pending-writes.ts';
import type { Writer } from './write-core.ts';
import type { WriterThreadAnswer, WriterThreadData, WriterThreadMessage } from './writer-thread.ts';

/** Run from source, the thread's file is TypeScript (Node strips the types); in a build it stands beside the bundle. */
const THREAD_FILE = new URL(
  import.meta.url.endsWith('.ts') ? './writer-thread.ts' : './writer-thread.js',
  import.meta.url,
);

/**
 * Writes on a thread of its own. Should the thread die, what waited for it rejects, and the next write starts a new one.
 * What was posted to a thread that worked may have been committed in its last moment, so its outcome is unknown.
 */
export class ThreadWriter implements Writer {
  readonly #data: WriterThreadData;
  readonly #pending = new PendingWrites((requests) => this.#post(requests));
  #worker: Worker | undefined;
  #closed = false;

  constructor(data: WriterThreadData) {
    this.#data = data;
    this.#worker = this.#start();
  }

  async submit<N extends OperationName>(name: N, ...args: Args<N>): Promise<Output<N>> {
    if (this.#closed) throw new StoreError('closed', 'The store was closed.');
    return this.#pending.add(name, args);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#pending.flush();
    const worker = this.#worker;
    if (worker === undefined) return;
    const exited = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
    worker.ref();
    this.#post('close');
    await exited;
  }

  #post(message: WriterThreadMessage): void {
    this.#worker ??= this.#start();
    // Only waiting for an answer keeps the process alive.
    this.#worker.ref();
    this.#worker.postMessage(message);
  }

  #start(): Worker {
    const worker = new Worker(THREAD_FILE, { workerData: this.#data, name: 'shortlink-writer' });
    worker.unref();
    let cause: unknown;
    let ready = false;
    worker.on('message', (answer: WriterThreadAnswer) => {
      if (answer === 'ready') ready = true;
      else this.#pending.settle(answer);
      if (this.#pending.size === 0 && !this.#closed) worker.unref();
    });
    worker.on('error', (error) => {
      cause = error;
    });
    worker.on('exit', () => {
      if (this.#worker === worker) this.#worker = undefined;
      this.#pending.fail(
        new StoreError(
          ready ? 'outcome_unknown' : 'unavailable',
          `The writer thread ended${cause instanceof Error ? `: ${cause.message}` : '.'}`,
          { cause },
        ),
      );
    });
    return worker;
  }
}

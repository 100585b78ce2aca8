import { Worker } from 'node:worker_threads';
import type { RunScript } from './coverage.ts';
import type { Patch } from './patches.ts';
import type { Chunk, ChunkReport, COVERAGE, END, WorkerData } from './worker.ts';

/** Room for young objects: a scenario's own are mostly gone before a collection then. */
const YOUNG_GENERATION_MB = 96;

/** A thread that plays chunks of seeds, one at a time. */
export class Player {
  readonly #worker: Worker;

  /**
   * @param module - what plays a seed
   * @param isCounted - whether the statements that are executed are counted
   */
  constructor(module: URL, patches: readonly Patch[], isCounted = false) {
    this.#worker = new Worker(new URL('./worker.ts', import.meta.url), {
      workerData: { module: module.href, patches, isCounted } satisfies WorkerData,
      resourceLimits: { maxYoungGenerationSizeMb: YOUNG_GENERATION_MB },
    });
  }

  play(chunk: Chunk): Promise<ChunkReport> {
    return this.#ask(chunk);
  }

  /** The statements that were executed so far. */
  coverage(): Promise<RunScript[]> {
    return this.#ask('coverage');
  }

  #ask<T>(message: Chunk | typeof COVERAGE | typeof END): Promise<T> {
    return new Promise((resolve, reject) => {
      this.#worker.once('error', reject);
      this.#worker.once('message', (answer: T) => {
        this.#worker.off('error', reject);
        resolve(answer);
      });
      this.#worker.postMessage(message);
    });
  }

  async end(): Promise<void> {
    await this.#ask<void>('end');
    await this.#worker.terminate();
  }
}

/** Runs `work` for each item, on so many threads of control at once. */
export async function eachOf<T>(
  items: Iterable<T>,
  count: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const takeAll = async () => {
    for (let next = iterator.next(); next.done !== true; next = iterator.next())
      await work(next.value);
  };
  await Promise.all(Array.from({ length: count }, takeAll));
}

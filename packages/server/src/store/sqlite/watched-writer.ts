import { StoreError, type StoreErrorReason } from '../store-error.ts';
import type { Args, OperationName, Output } from './operations/operations.ts';
import type { Writer } from './write-core.ts';

/** How often a database that failed is tried, in milliseconds. */
export const PROBE_MS = 1_000;

/** Failures that other writes would have too. */
const OF_THE_DATABASE: ReadonlySet<StoreErrorReason> = new Set<StoreErrorReason>([
  'busy',
  'full',
  'read_only',
  'corrupt',
  'unavailable',
  'outcome_unknown',
]);

/**
 * A writer that knows whether the database takes writes. After a failure it writes a page of its own every second until one is taken, so
 * that a service without requests learns too that there is space again.
 */
export class WatchedWriter implements Writer {
  readonly #writer: Writer;
  #isHealthy = true;
  #probe: NodeJS.Timeout | undefined;

  constructor(writer: Writer) {
    this.#writer = writer;
  }

  /** Whether the last write was taken. */
  get isHealthy(): boolean {
    return this.#isHealthy;
  }

  async submit<N extends OperationName>(name: N, ...args: Args<N>): Promise<Output<N>> {
    try {
      const output = await this.#writer.submit(name, ...args);
      this.#isHealthy = true;
      return output;
    } catch (error) {
      if (error instanceof StoreError && OF_THE_DATABASE.has(error.reason)) this.#fail();
      throw error;
    }
  }

  close(): Promise<void> {
    clearTimeout(this.#probe);
    return this.#writer.close();
  }

  #fail(): void {
    this.#isHealthy = false;
    clearTimeout(this.#probe);
    // A failure of the probe brings the next one.
    this.#probe = setTimeout(() => this.submit('probe').catch(() => undefined), PROBE_MS);
    this.#probe.unref();
  }
}

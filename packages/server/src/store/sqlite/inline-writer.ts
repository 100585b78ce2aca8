import { StoreError } from '../store-error.ts';
import type { Args, OperationName, Output } from './operations/operations.ts';
import { PendingWrites } from './pending-writes.ts';
import type { WriteCore, Writer } from './write-core.ts';

/** Writes on the thread that asks. For `:memory:`, where nothing waits for a disk and no second connection can see the data. */
export class InlineWriter implements Writer {
  readonly #pending: PendingWrites;
  #closed = false;

  constructor(core: WriteCore) {
    this.#pending = new PendingWrites((requests) => {
      let left = requests;
      while (left.length > 0) left = core.run(left, (replies) => this.#pending.settle(replies));
    });
  }

  async submit<N extends OperationName>(name: N, ...args: Args<N>): Promise<Output<N>> {
    if (this.#closed) throw new StoreError('closed', 'The store was closed.');
    return this.#pending.add(name, args);
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#pending.flush();
  }
}

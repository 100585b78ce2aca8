import type { Args, OperationName, Output } from './operations/operations.ts';

/** Runs writes one group after another and answers each when it is durable (see `WriteCore`). */
export interface Writer {
  submit<N extends OperationName>(name: N, ...args: Args<N>): Promise<Output<N>>;
  /** Finishes what was submitted, then closes the connection. Later submits reject. */
  close(): Promise<void>;
}

import type { BatchLinkInput } from '@shortlink/sdk';
import type { Row } from './types.ts';
import type { CheckedRow } from './validate.ts';

/** Where the rows that are read go. */
export interface RowReceiver {
  link(row: Row, link: BatchLinkInput): void;
  rejected(row: Row, reason: string): void;
  /** Awaited after each stretch of rows. */
  settle(): Promise<void>;
}

/**
 * The links of the input, for `createMany`, which reads them one by one: a plain object costs a third of an async
 * generator. Each row goes to the receiver before its link is handed out. It can't be closed: after `createMany` has
 * ended early, the rows that are left are read from it for the results.
 */
export class LinkSource implements AsyncIterableIterator<BatchLinkInput> {
  readonly #batches: AsyncIterator<Row[]>;
  readonly #check: (row: Row) => CheckedRow;
  readonly #receiver: RowReceiver;
  #rows: readonly Row[] = [];
  #position = 0;

  constructor(
    batches: AsyncIterator<Row[]>,
    check: (row: Row) => CheckedRow,
    receiver: RowReceiver,
  ) {
    this.#batches = batches;
    this.#check = check;
    this.#receiver = receiver;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): Promise<IteratorResult<BatchLinkInput, undefined>> {
    const link = this.#takeLink();
    return link === undefined ? this.#readOn() : Promise.resolve({ done: false, value: link });
  }

  /** Ends the reading of the input. */
  async close(): Promise<void> {
    await this.#batches.return?.();
  }

  /** The next link of the rows at hand. */
  #takeLink(): BatchLinkInput | undefined {
    for (;;) {
      const row = this.#rows[this.#position];
      if (row === undefined) return undefined;
      this.#position += 1;
      const checked = this.#check(row);
      if (typeof checked !== 'string') {
        this.#receiver.link(row, checked);
        return checked;
      }
      this.#receiver.rejected(row, checked);
    }
  }

  async #readOn(): Promise<IteratorResult<BatchLinkInput, undefined>> {
    for (;;) {
      await this.#receiver.settle();
      const { done, value } = await this.#batches.next();
      if (done) return { done: true, value: undefined };
      this.#rows = value;
      this.#position = 0;
      const link = this.#takeLink();
      if (link !== undefined) return { done: false, value: link };
    }
  }
}

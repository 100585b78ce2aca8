import type { BulkSourceIterator } from '@shortlink/sdk';
import type { RowRules } from './map/row-rules.ts';
import { RowLink } from './row-link.ts';
import type { RowSet } from './row-set.ts';
import type { Row } from './types.ts';

/** Where the rows that are read go. */
export interface RowReceiver {
  link(link: RowLink): void;
  rejected(row: Row, reason: string): void;
  /** Awaited after each stretch of rows. */
  settle(): Promise<void>;
}

type LinkStep = IteratorResult<RowLink, undefined>;

/**
 * The links of the input, for `createMany`, which reads them one by one: a plain object costs a third of an async
 * generator. Each row goes to the receiver before its link is handed out. It can't be closed: after `createMany` has
 * ended early, the rows that are left are read from it for the results.
 */
export class LinkSource implements BulkSourceIterator<RowLink> {
  readonly #batches: AsyncIterator<Row[]>;
  readonly #rules: RowRules;
  readonly #rejected: RowSet;
  readonly #receiver: RowReceiver;
  #rows: readonly Row[] = [];
  #position = 0;
  /** Of the next row, among all. */
  #number = 0;

  constructor(
    batches: AsyncIterator<Row[]>,
    { rules, rejectedRows }: { rules: RowRules; rejectedRows: RowSet },
    receiver: RowReceiver,
  ) {
    this.#batches = batches;
    this.#rules = rules;
    this.#rejected = rejectedRows;
    this.#receiver = receiver;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  next(): LinkStep | Promise<LinkStep> {
    const link = this.#takeLink();
    return link === undefined ? this.#readOn() : { done: false, value: link };
  }

  /** Ends the reading of the input. */
  async close(): Promise<void> {
    await this.#batches.return?.();
  }

  /** The next link of the rows at hand. */
  #takeLink(): RowLink | undefined {
    for (;;) {
      const row = this.#rows[this.#position];
      if (row === undefined) return undefined;
      this.#position += 1;
      const isRejected = this.#rejected.has(this.#number);
      this.#number += 1;
      if (!isRejected) {
        const link = new RowLink(row, this.#rules);
        this.#receiver.link(link);
        return link;
      }
      this.#receiver.rejected(row, this.#rules.problem(row) ?? '');
    }
  }

  async #readOn(): Promise<LinkStep> {
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

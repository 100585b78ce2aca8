import type { BatchLinkInput, BatchRange } from '@shortlink/sdk';
import { contentHash, linkText, pairOf } from '../journal/link-text.ts';
import type { RowRules } from '../map/row-rules.ts';
import type { Row } from '../types.ts';

type LinkStep = IteratorResult<RowLink, undefined>;

/** Links that are forgotten at once: one by one would copy the others each time. */
const FORGET_STEP = 4096;

/**
 * The link of a new row, for `createMany`. It is made in the request's JSON, and only what the journal and the response need of it is
 * kept until the batch is settled.
 */
class RowLink implements BatchLinkInput {
  readonly #row: Row;
  readonly #rules: RowRules;
  #target: string | undefined;
  #domain: string | undefined;
  #content = '';

  constructor(row: Row, rules: RowRules) {
    this.#row = row;
    this.#rules = rules;
  }

  get target_url(): string {
    return this.#target ?? this.toJSON().target_url;
  }

  /** Links to one target on several domains are not alike: each has only its own result. */
  get domain_id(): string | undefined {
    return this.#domain;
  }

  toJSON(): BatchLinkInput {
    const link = this.#rules.link(this.#row);
    this.#target = link.target_url;
    this.#domain = link.domain_id;
    this.#content = contentHash(link);
    return link;
  }

  /** The link as the journal stores it. */
  text(defaultDomain: string | undefined): string {
    const pair = pairOf(this.target_url, this.#domain ?? defaultDomain);
    return linkText({ content: this.#content, pair });
  }
}

export interface LinkSourceOptions {
  rules: RowRules;
  /** Rows to leave out: they can't be sent, or their links exist. */
  skips: (row: Row, number: number) => boolean;
  /** Links after which it ends. */
  limit: number;
}

/**
 * The links of the new rows, for `createMany`, which reads them one by one: a plain object costs a third of an async
 * generator. It keeps those that are in flight, because the journal records them by their batch.
 */
export class LinkSource implements AsyncIterator<RowLink, undefined> {
  readonly #batches: AsyncGenerator<Row[]>;
  readonly #options: LinkSourceOptions;
  #rows: readonly Row[] = [];
  #next = 0;
  /** Number of the next row, among all. */
  #number = 0;
  /** Links given and not settled yet, and the position of the first of them. */
  #links: RowLink[] = [];
  #first = 0;

  constructor(batches: AsyncGenerator<Row[]>, options: LinkSourceOptions) {
    this.#batches = batches;
    this.#options = options;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<LinkStep> {
    if (this.#first + this.#links.length >= this.#options.limit) {
      return { done: true, value: undefined };
    }
    const link = this.#takeLink();
    return link === undefined ? this.#readOn() : { done: false, value: link };
  }

  /** Ends the reading of the input. */
  async return(): Promise<LinkStep> {
    await this.#batches.return(undefined);
    return { done: true, value: undefined };
  }

  /** The links of a batch in flight. */
  linksOf({ first, count }: BatchRange): readonly RowLink[] {
    return this.#links.slice(first - this.#first, first - this.#first + count);
  }

  /** All links before `position` are settled. */
  forget(position: number): void {
    const settled = position - this.#first;
    if (settled < FORGET_STEP && settled < this.#links.length) return;
    this.#links = this.#links.slice(settled);
    this.#first = position;
  }

  /** The next link of the rows at hand. */
  #takeLink(): RowLink | undefined {
    for (;;) {
      const row = this.#rows[this.#next];
      if (row === undefined) return undefined;
      this.#next += 1;
      const number = this.#number;
      this.#number += 1;
      if (this.#options.skips(row, number)) continue;
      const link = new RowLink(row, this.#options.rules);
      this.#links.push(link);
      return link;
    }
  }

  async #readOn(): Promise<LinkStep> {
    for (;;) {
      const { done, value } = await this.#batches.next();
      if (done) return { done: true, value: undefined };
      this.#rows = value;
      this.#next = 0;
      const link = this.#takeLink();
      if (link !== undefined) return { done: false, value: link };
    }
  }
}

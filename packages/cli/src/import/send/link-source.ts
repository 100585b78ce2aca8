import type { BatchRange, CreateLinkBody } from '@shortlink/sdk';
import { contentOf, identityOf, type LinkIdentity } from '../map/link-identity.ts';
import type { RowRules } from '../map/row-rules.ts';
import type { Row } from '../types.ts';

type LinkStep = IteratorResult<NewLink, undefined>;

/** Links that are forgotten at once: one by one would copy the others each time. */
const FORGET_STEP = 4096;

/**
 * The link of a new row, for `createMany`. It is made in the request's JSON, and only what the journal and the response need of it is
 * kept until the batch is settled.
 */
class NewLink implements CreateLinkBody {
  readonly #row: Row;
  readonly #rules: RowRules;
  #target: string | undefined;
  #domain: string | undefined;
  #content = 0;

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

  toJSON(): CreateLinkBody {
    const link = this.#rules.link(this.#row);
    this.#target = link.target_url;
    this.#domain = link.domain_id;
    this.#content = contentOf(link);
    return link;
  }

  /** What the journal stores of the link. */
  identity(defaultDomain: string | undefined): LinkIdentity {
    return identityOf(this.target_url, this.#domain ?? defaultDomain, this.#content);
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
export class LinkSource implements AsyncIterator<NewLink, undefined> {
  readonly #batches: AsyncGenerator<Row[]>;
  readonly #options: LinkSourceOptions;
  #rows: readonly Row[] = [];
  #next = 0;
  /** Number of the next row, among all. */
  #number = 0;
  /** Links given and not settled yet, and the position of the first of them. */
  #links: NewLink[] = [];
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
  linksOf({ first, count }: BatchRange): readonly NewLink[] {
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
  #takeLink(): NewLink | undefined {
    for (;;) {
      const row = this.#rows[this.#next];
      if (row === undefined) return undefined;
      this.#next += 1;
      const number = this.#number;
      this.#number += 1;
      if (this.#options.skips(row, number)) continue;
      const link = new NewLink(row, this.#options.rules);
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

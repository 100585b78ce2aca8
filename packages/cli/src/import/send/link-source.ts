import type { BatchRange, CreateLinkBody } from '@shortlink/sdk';
import type { Row } from '@shortlink/tables/basics';
import { contentOf, pairOf } from '../map/link-identity.ts';
import type { RowRules } from '../map/row-rules.ts';
import type { SendInput } from './send-rows.ts';

/** Links that are forgotten together. One by one, the others would be copied each time. */
const FORGET_STEP = 4096;

/** The link of a new row, made when the request is written as JSON. Only what the journal needs of it is kept until the batch is settled. */
class NewLink implements Pick<CreateLinkBody, 'target_url'> {
  target_url = '';
  readonly #row: Row;
  readonly #rules: RowRules;
  #domain: string | undefined;
  #content = 0;

  constructor(row: Row, rules: RowRules) {
    this.#row = row;
    this.#rules = rules;
  }

  toJSON(): CreateLinkBody {
    const link = this.#rules.link(this.#row);
    this.target_url = link.target_url;
    this.#domain = link.domain_id;
    this.#content = contentOf(link);
    return link;
  }

  /** What the journal stores of the link, once it was written as JSON. */
  stored(defaultDomain: string | undefined): [pair: string, content: number] {
    return [pairOf(this.target_url, this.#domain ?? defaultDomain), this.#content];
  }
}

type NextLink = IteratorResult<NewLink, undefined>;

/** The links of the new rows, without a promise for each as in an async generator. It keeps those in flight for the journal. */
export class LinkSource {
  readonly #batches: AsyncGenerator<Row[]>;
  readonly #rules: RowRules;
  readonly #send: Pick<SendInput, 'skips' | 'links'>;
  #rows: readonly Row[] = [];
  #next = 0;
  /** Number of the next row, among all. */
  #number = 0;
  /** Links in flight, and the position of the first of them. */
  #links: NewLink[] = [];
  #first = 0;

  constructor(
    batches: AsyncGenerator<Row[]>,
    rules: RowRules,
    send: Pick<SendInput, 'skips' | 'links'>,
  ) {
    this.#batches = batches;
    this.#rules = rules;
    this.#send = send;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next link, at once where a row is at hand. */
  next(): NextLink | Promise<NextLink> {
    return this.#take() ?? this.#readOn();
  }

  /** Undefined where more rows have to be read. */
  #take(): NextLink | Promise<NextLink> | undefined {
    while (this.#first + this.#links.length < this.#send.links) {
      const row = this.#rows[this.#next];
      if (row === undefined) return undefined;
      this.#next += 1;
      if (this.#send.skips(row, this.#number++)) continue;
      const link = new NewLink(row, this.#rules);
      this.#links.push(link);
      return { done: false, value: link };
    }
    return this.return();
  }

  async #readOn(): Promise<NextLink> {
    for (;;) {
      const { done, value } = await this.#batches.next();
      if (done) return await this.return();
      this.#rows = value;
      this.#next = 0;
      const link = this.#take();
      if (link !== undefined) return link;
    }
  }

  async return(): Promise<NextLink> {
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
}

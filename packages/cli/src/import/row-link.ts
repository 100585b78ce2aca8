import type { BatchLinkInput } from '@shortlink/sdk';
import type { RowRules } from './map/row-rules.ts';
import type { Row } from './types.ts';

/**
 * The link of a row that was found valid, for `createMany`. It is made in the request's JSON, and nothing of it is kept until the
 * batch is settled: its target URL, which is compared with the answer's, is cut out once more.
 */
export class RowLink implements BatchLinkInput {
  readonly row: Row;
  readonly #rules: RowRules;

  constructor(row: Row, rules: RowRules) {
    this.row = row;
    this.#rules = rules;
  }

  get target_url(): string {
    return this.#rules.targetUrl(this.row);
  }

  toJSON(): BatchLinkInput {
    return this.#rules.link(this.row);
  }
}

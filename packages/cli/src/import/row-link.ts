import type { BatchLinkInput } from '@shortlink/sdk';
import type { Row } from './types.ts';
import type { RowRules } from './validate.ts';

/**
 * The link of a row that was found valid, for `createMany`. Whole only in the request's JSON: until the batch is settled, its
 * target URL is all that is needed of it.
 */
export class RowLink implements BatchLinkInput {
  readonly target_url: string;
  readonly row: Row;
  readonly #rules: RowRules;

  constructor(row: Row, rules: RowRules) {
    this.row = row;
    this.#rules = rules;
    this.target_url = rules.targetUrl(row);
  }

  toJSON(): BatchLinkInput {
    return this.#rules.link(this.row);
  }
}

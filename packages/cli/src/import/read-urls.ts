import { LineSplitter } from './line-splitter.ts';
import type { RowReader } from './row-reader.ts';
import type { Row } from './types.ts';

/** Name of the only column of a URL list. */
export const URL_LIST_COLUMN = 'target_url';

/** A plain list: one URL a line. */
export class UrlListReader implements RowReader {
  readonly #lines: LineSplitter;

  /** @param name name of the file in messages */
  constructor(name: string) {
    this.#lines = new LineSplitter(name);
  }

  push(text: string): Row[] {
    return this.#lines.push(text).map(toRow);
  }

  end(): Row[] {
    return this.#lines.end().map(toRow);
  }
}

function toRow({ line, text }: { line: number; text: string }): Row {
  return { line, cells: [text.trim()] };
}

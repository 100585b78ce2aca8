import type { Row } from './types.ts';

/** A cell that {@link csvCell} would not leave as it is, in a line without quotes. */
const NEEDS_GUARD = /(?:^|,)[=+\-@\t＝＋－＠]/;

/**
 * A row without quotes, which is cut into cells when they are asked for. Tens of thousands of rows wait at once for their fate:
 * as text each of them is two objects, with its cells it would be eight, and keeping those costs more than cutting again.
 */
export class PlainRow implements Row {
  readonly line: number;
  readonly #text: string;
  readonly #delimiter: string;

  constructor(line: number, text: string, delimiter: string) {
    this.line = line;
    this.#text = text;
    this.#delimiter = delimiter;
  }

  get cells(): readonly string[] {
    return this.#text.split(this.#delimiter);
  }

  cell(index: number): string | undefined {
    let start = 0;
    for (let skipped = 0; skipped < index; skipped += 1) {
      start = this.#text.indexOf(this.#delimiter, start) + 1;
      if (start === 0) return undefined;
    }
    const end = this.#text.indexOf(this.#delimiter, start);
    return end === -1 ? this.#text.slice(start) : this.#text.slice(start, end);
  }

  asCsv(width: number): string | undefined {
    if (this.#delimiter !== ',' || NEEDS_GUARD.test(this.#text)) return undefined;
    let cells = 1;
    for (let at = this.#text.indexOf(','); at !== -1; at = this.#text.indexOf(',', at + 1)) {
      cells += 1;
    }
    return cells === width ? this.#text : undefined;
  }
}

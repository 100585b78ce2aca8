import type { Row } from '../types.ts';

/** Turns decoded text that comes in pieces, cut anywhere, into rows. Rows that hold nothing are skipped. */
export interface RowReader {
  /** The rows that this piece completes. */
  push(text: string): Row[];
  /** The rows that only the end of the input completes. */
  end(): Row[];
}

/** Finds, in a line without quotes, a cell that {@link csvCell} would not leave as it is; one pattern per delimiter. */
const needsGuard = new Map([[',', /(?:^|,)[=+\-@\t＝＋－＠]/]]);

/** A stretch of the input that many rows stand in. */
export interface Piece {
  readonly text: string;
  readonly delimiter: string;
}

/**
 * A row without quotes, which is cut out of its piece when it is asked for. Tens of thousands of rows wait at once for their fate:
 * as places in a text each of them is one object, with its cells it would be eight, and keeping those costs more than cutting
 * again.
 */
export class PlainRow implements Row {
  readonly line: number;
  readonly #piece: Piece;
  readonly #start: number;
  readonly #end: number;

  constructor(line: number, piece: Piece, start: number, end: number) {
    this.line = line;
    this.#piece = piece;
    this.#start = start;
    this.#end = end;
  }

  get cells(): readonly string[] {
    return this.#text.split(this.#piece.delimiter);
  }

  cell(index: number): string | undefined {
    const text = this.#text;
    const { delimiter } = this.#piece;
    let start = 0;
    for (let skipped = 0; skipped < index; skipped += 1) {
      start = text.indexOf(delimiter, start) + 1;
      if (start === 0) return undefined;
    }
    const end = text.indexOf(delimiter, start);
    return end === -1 ? text.slice(start) : text.slice(start, end);
  }

  asCsv(width: number, delimiter = ','): string | undefined {
    const text = this.#text;
    if (this.#piece.delimiter !== delimiter || guardPattern(delimiter).test(text)) return undefined;
    let cells = 1;
    for (let at = text.indexOf(delimiter); at !== -1; at = text.indexOf(delimiter, at + 1)) {
      cells += 1;
    }
    return cells === width ? text : undefined;
  }

  get #text(): string {
    return this.#piece.text.slice(this.#start, this.#end);
  }
}

function guardPattern(delimiter: string): RegExp {
  let pattern = needsGuard.get(delimiter);
  if (pattern === undefined) {
    const escaped = delimiter.replace(/[\\^$.*+?()[\]{}|]/, '\\$&');
    pattern = new RegExp(`(?:^|${escaped})[=+\\-@\\t＝＋－＠]`);
    needsGuard.set(delimiter, pattern);
  }
  return pattern;
}

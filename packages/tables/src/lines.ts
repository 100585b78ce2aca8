import { inputError } from './errors.ts';
import type { Row } from './types.ts';

/** The longest row, in characters. Without it a quote that never closes would read the rest of the file into memory. */
export const MAX_ROW_LENGTH = 16 * 1024 * 1024;

export interface Line {
  /** From 1. */
  line: number;
  text: string;
}

/** Cuts text that comes in pieces into lines: LF, CRLF or CR. Blank lines are skipped and counted. */
export class LineSplitter {
  readonly #name: string;
  #rest = '';
  #line: number;

  /**
   * @param name name of the file in messages
   * @param firstLine number of the first line that will be pushed
   */
  constructor(name: string, firstLine = 1) {
    this.#name = name;
    this.#line = firstLine;
  }

  push(text: string): Line[] {
    const whole = this.#rest + text;
    // A CR that ends the piece may be half of a CRLF, so it waits for the next one.
    const held = whole.endsWith('\r') ? 1 : 0;
    const parts = whole.slice(0, whole.length - held).split(/\r\n|\r|\n/);
    this.#rest = (parts.pop() ?? '') + (held === 1 ? '\r' : '');
    if (this.#rest.length > MAX_ROW_LENGTH) {
      const mib = MAX_ROW_LENGTH / 1024 / 1024;
      throw inputError(`${this.#name}, line ${this.#line + parts.length}: longer than ${mib} MiB`);
    }
    return this.#number(parts);
  }

  end(): Line[] {
    const parts = this.#rest.split('\r');
    this.#rest = '';
    return this.#number(parts);
  }

  #number(parts: readonly string[]): Line[] {
    const lines: Line[] = [];
    for (const text of parts) {
      if (text.trim() !== '') lines.push({ line: this.#line, text });
      this.#line += 1;
    }
    return lines;
  }
}

const LINE_BREAK = /\r\n|\r|\n/g;

/** Counts lines in text that comes in pieces. A line ends with LF, CRLF or CR; a CRLF may be cut in two. */
export class LineCounter {
  /** The line, from 1, that the text after everything added so far is on. */
  line = 1;
  #endedWithCr = false;

  add(text: string): void {
    if (text === '') return;
    this.line += countLineBreaks(text);
    if (this.#endedWithCr && text.startsWith('\n')) this.line -= 1;
    this.#endedWithCr = text.endsWith('\r');
  }
}

/** Line breaks inside one piece of text. */
export function countLineBreaks(text: string): number {
  return text.match(LINE_BREAK)?.length ?? 0;
}

/** Turns decoded text that comes in pieces, cut anywhere, into rows. Rows that hold nothing are skipped. */
export interface RowReader {
  /** The rows that this piece completes. */
  push(text: string): Row[];
  /** The rows that only the end of the input completes. */
  end(): Row[];
}

/** The usual delimiters. */
const DELIMITERS = ',;|\t';

/** Finds, in a line without quotes, what may be a cell that the writer of CSV files would not leave as it is. */
const MAY_NEED_GUARD = /(?:^|[,;|\t])[=+\-@\t＝＋－＠]/;

/** A stretch of the input that many rows stand in. */
interface Piece {
  readonly text: string;
  readonly delimiter: string;
}

/**
 * A row without quotes, which is cut out of its piece when it is asked for. Tens of thousands of rows wait at once for their outcome.
 * As a range of a text, each of them is one object; with its cells it would be eight, and keeping those costs more than cutting
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

  asCsv(width: number, delimiter: string): string | undefined {
    const text = this.#text;
    const isUsual = this.#piece.delimiter === delimiter && DELIMITERS.includes(delimiter);
    if (!isUsual || MAY_NEED_GUARD.test(text)) return undefined;
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

/** What a line holds that is a row of its own. */
export type Parsed = Omit<Row, 'line' | 'asCsv'>;

/** Reads text of which each line is a row of its own. */
export function readerOfLines(lines: LineSplitter, toRow: (line: Line) => Row): RowReader {
  return { push: (text) => lines.push(text).map(toRow), end: () => lines.end().map(toRow) };
}

/**
 * Makes a row of a line, which is parsed when something of it is asked for: tens of thousands of rows wait at once for their outcome, as
 * text. Only what the last one holds is kept, which is asked for several times in a row.
 */
export function lazyRows(parse: (line: Line) => Parsed): (line: Line) => Row {
  let last: Line | undefined;
  let parsed: Parsed = { cells: [] };
  const parseOnce = (line: Line) => {
    if (last !== line) parsed = parse(line);
    last = line;
    return parsed;
  };
  return (line) => new LazyRow(line, parseOnce);
}

class LazyRow implements Row {
  readonly #line: Line;
  readonly #parse: (line: Line) => Parsed;

  constructor(line: Line, parse: (line: Line) => Parsed) {
    this.#line = line;
    this.#parse = parse;
  }

  get line(): number {
    return this.#line.line;
  }

  get cells(): readonly string[] {
    return this.#parse(this.#line).cells;
  }

  get object(): Row['object'] {
    return this.#parse(this.#line).object;
  }

  get text(): string | undefined {
    return this.#parse(this.#line).text;
  }

  get book(): Row['book'] {
    return this.#parse(this.#line).book;
  }

  get isSum(): boolean | undefined {
    return this.#parse(this.#line).isSum;
  }

  get problem(): string | undefined {
    return this.#parse(this.#line).problem;
  }
}

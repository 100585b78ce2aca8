import { inputError } from './errors.ts';
import type { Row } from './types.ts';

/** The longest row, in characters. Without it a quote that never closes would read the rest of the file into memory. */
export const MAX_ROW_LENGTH = 16 * 1024 * 1024;

/** Makes something of a line: its number, and the text in which it stands from `start` to `end`. */
export type MakeLine<Made> = (line: number, text: string, start: number, end: number) => Made;

/** A row with quotes, or undefined where it holds nothing. The next one begins at `next`, so many lines below. */
interface QuotedRow<Made> {
  made: Made | undefined;
  next: number;
  lines: number;
}

const SPACE = 32;
const FIRST_NON_ASCII = 128;

/** Cuts text that comes in pieces, cut anywhere, into lines: LF, CRLF or CR. Blank lines are skipped and counted. */
export class LineSplitter<Made> {
  /** Of the file, in messages. */
  protected readonly name: string;
  /** Number of the line that comes next. */
  protected line: number;
  protected readonly delimiterCode: number;
  readonly #make: MakeLine<Made>;
  /** The beginning of a row whose end has not come yet. */
  #rest = '';
  /**
   * Length of the text with which the end of that row is looked for again. Each look begins with the row: were it not twice as long as at
   * the last one, a long row that comes in small pieces would take quadratic time.
   */
  #nextLength = 0;

  /** @param delimiter - what a line may begin with, and yet hold nothing */
  constructor(name: string, firstLine: number, make: MakeLine<Made>, delimiter = '') {
    this.name = name;
    this.line = firstLine;
    this.#make = make;
    this.delimiterCode = delimiter.charCodeAt(0);
  }

  /** What this piece completes. */
  push(text: string): Made[] {
    const whole = this.#rest + text;
    if (whole.length < this.#nextLength && whole.length <= MAX_ROW_LENGTH) {
      this.#rest = whole;
      return [];
    }
    const made = this.#cut(whole, false);
    if (this.#rest.length > MAX_ROW_LENGTH) throw this.tooLong(this.#rest);
    return made;
  }

  /** What only the end of the input completes. */
  end(): Made[] {
    return this.#cut(this.#rest, true);
  }

  #cut(text: string, isLast: boolean): Made[] {
    const made: Made[] = [];
    const { length } = text;
    let start = 0;
    // Where the next of each stands, searched again only once it is behind: so a file without one is scanned once.
    let lf = -1;
    let cr = -1;
    let quote = this.readQuoted === undefined ? length : -1;
    while (start < length) {
      if (lf < start) lf = indexOrEnd(text, '\n', start);
      if (cr < start) cr = indexOrEnd(text, '\r', start);
      if (quote < start) quote = indexOrEnd(text, '"', start);
      const end = Math.min(lf, cr);
      if (quote < end) {
        const row = this.readQuoted?.(text, start, end, isLast);
        if (row === undefined) break;
        if (row.made !== undefined) made.push(row.made);
        start = row.next;
        this.line += row.lines;
        continue;
      }
      // A CR that ends the piece may be half of a CRLF.
      if (!isLast && (end === length || (end === cr && cr === length - 1))) break;
      if (!this.#isBlank(text, start, end)) made.push(this.#make(this.line, text, start, end));
      this.line += 1;
      start = end === cr && lf === cr + 1 ? lf + 1 : end + 1;
    }
    this.#rest = text.slice(start);
    this.#nextLength = this.readQuoted === undefined ? 0 : 2 * this.#rest.length;
    return made;
  }

  /** The row whose first line ends at `lineEnd`, and has a quote; undefined when its end is not in `text` yet. */
  protected readQuoted?(
    text: string,
    start: number,
    lineEnd: number,
    isLast: boolean,
  ): QuotedRow<Made> | undefined;

  protected isBlankLine(line: string): boolean {
    return line.trim() === '';
  }

  protected tooLong(_row: string, what = '', hint?: string) {
    const mib = MAX_ROW_LENGTH / 1024 / 1024;
    return inputError(`${this.name}, line ${this.line}: ${what}longer than ${mib} MiB`, hint);
  }

  #isBlank(text: string, start: number, end: number): boolean {
    const code = text.charCodeAt(start);
    // Nearly every line begins with an ASCII character that is no space, and that settles it.
    const isSettled = code > SPACE && code < FIRST_NON_ASCII && code !== this.delimiterCode;
    return !(isSettled && start < end) && this.isBlankLine(text.slice(start, end));
  }
}

function indexOrEnd(text: string, character: string, from: number): number {
  const index = text.indexOf(character, from);
  return index === -1 ? text.length : index;
}

const LINE_BREAK = /\r\n|\r|\n/g;

/** Line breaks inside one piece of text. */
export function countLineBreaks(text: string): number {
  return text.match(LINE_BREAK)?.length ?? 0;
}

/** The usual delimiters. */
const DELIMITERS = ',;|\t';

/** Finds, in a line without quotes, what may be a cell that the writer of CSV files would not leave as it is. */
const MAY_NEED_GUARD = /(?:^|[,;|\t])[=+\-@\t＝＋－＠]/;

/**
 * A row without quotes, which is cut out of its piece when it is asked for. Tens of thousands of rows wait at once for their outcome.
 * As a range of a text, each of them is one object; with its cells it would be eight, and keeping those costs more than cutting
 * again.
 */
export class PlainRow implements Row {
  readonly line: number;
  readonly #piece: string;
  readonly #start: number;
  readonly #end: number;
  readonly #delimiter: string;

  constructor(line: number, piece: string, start: number, end: number, delimiter: string) {
    this.line = line;
    this.#piece = piece;
    this.#start = start;
    this.#end = end;
    this.#delimiter = delimiter;
  }

  get cells(): readonly string[] {
    return this.#text.split(this.#delimiter);
  }

  asCsv(width: number, delimiter: string): string | undefined {
    const text = this.#text;
    const isUsual = this.#delimiter === delimiter && DELIMITERS.includes(delimiter);
    if (!isUsual || MAY_NEED_GUARD.test(text)) return undefined;
    let cells = 1;
    for (let at = text.indexOf(delimiter); at !== -1; at = text.indexOf(delimiter, at + 1)) {
      cells += 1;
    }
    return cells === width ? text : undefined;
  }

  get #text(): string {
    return this.#piece.slice(this.#start, this.#end);
  }

  get isUnended(): boolean {
    return this.#end === this.#piece.length;
  }
}

/** What a line holds that is a row of its own. */
export type Parsed = Omit<Row, 'line' | 'asCsv'>;

/**
 * Makes rows of lines, each of which is parsed when something of it is asked for: tens of thousands of rows wait at once for their outcome,
 * each as a range of a text. Only what the last one holds is kept, which is asked for several times in a row.
 */
export function lazyRows(parse: (text: string, line: number) => Parsed): MakeLine<Row> {
  let last: LazyRow | undefined;
  let parsed: Parsed = { cells: [] };
  const parseOnce: ParseRow = (row, piece, start, end) => {
    if (last !== row) parsed = parse(piece.slice(start, end), row.line);
    last = row;
    return parsed;
  };
  return (line, piece, start, end) => new LazyRow(line, piece, start, end, parseOnce);
}

type ParseRow = (row: LazyRow, piece: string, start: number, end: number) => Parsed;

class LazyRow implements Row {
  readonly line: number;
  readonly #piece: string;
  readonly #start: number;
  readonly #end: number;
  readonly #parse: ParseRow;

  constructor(line: number, piece: string, start: number, end: number, parse: ParseRow) {
    this.line = line;
    this.#piece = piece;
    this.#start = start;
    this.#end = end;
    this.#parse = parse;
  }

  get cells(): readonly string[] {
    return this.#parsed.cells;
  }

  get object(): Row['object'] {
    return this.#parsed.object;
  }

  get text(): string | undefined {
    return this.#parsed.text;
  }

  get book(): Row['book'] {
    return this.#parsed.book;
  }

  get isSum(): boolean | undefined {
    return this.#parsed.isSum;
  }

  get problem(): string | undefined {
    return this.#parsed.problem;
  }

  get #parsed(): Parsed {
    return this.#parse(this, this.#piece, this.#start, this.#end);
  }
}

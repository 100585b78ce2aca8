import { inputError, shown } from './errors.ts';
import { countLineBreaks, indexOrEnd, MAX_ROW_LENGTH, PlainRow, type RowReader } from './lines.ts';
import type { Row } from './types.ts';

const LF = 10;
const CR = 13;
const TAB = 9;
const SPACE = 32;
const QUOTE = 34;
const FIRST_NON_ASCII = 128;

interface CsvReaderOptions {
  /** One character. */
  delimiter: string;
  /** Name of the file in messages. */
  name: string;
  /** Number of the first line that will be pushed. @default 1 */
  firstLine?: number | undefined;
}

/**
 * RFC 4180, as files really are: any delimiter, line ends LF, CRLF and CR even mixed, rows of any number of cells, a
 * quote inside an unquoted cell taken as it stands, spaces between a closing quote and the delimiter. Text after a
 * closing quote is an error rather than a guess: the quotes of all that follows would be out of step.
 *
 * Built by hand since it must know lines and be right first; a line without quotes is one `split`.
 */
export class CsvReader implements RowReader {
  readonly #delimiter: string;
  readonly #delimiterCode: number;
  readonly #name: string;
  /** The beginning of a row whose end has not come yet. */
  #rest = '';
  /**
   * Length of the text with which the end of that row is looked for again. Each look begins with the row: were it not twice as long as at
   * the last one, a long row that comes in small pieces would take quadratic time.
   */
  #nextLength = 0;
  /** Where the next delimiter stands in the text that is being parsed. */
  #nextDelimiter = -1;
  #line: number;

  constructor(options: CsvReaderOptions) {
    this.#delimiter = options.delimiter;
    this.#delimiterCode = options.delimiter.charCodeAt(0);
    this.#name = options.name;
    this.#line = options.firstLine ?? 1;
  }

  push(text: string): Row[] {
    const whole = this.#rest + text;
    if (whole.length < this.#nextLength && whole.length <= MAX_ROW_LENGTH) {
      this.#rest = whole;
      return [];
    }
    return this.#parse(whole, false);
  }

  end(): Row[] {
    return this.#parse(this.#rest, true);
  }

  #parse(text: string, last: boolean): Row[] {
    const rows: Row[] = [];
    const piece = { text, delimiter: this.#delimiter };
    const { length } = text;
    let position = 0;
    this.#nextDelimiter = -1;
    // Where the next of each stands, searched again only once it is behind: so a file without one is scanned once.
    let lf = -1;
    let cr = -1;
    let quote = -1;
    while (position < length) {
      if (lf < position) lf = indexOrEnd(text, '\n', position);
      if (cr < position) cr = indexOrEnd(text, '\r', position);
      if (quote < position) quote = indexOrEnd(text, '"', position);
      const lineEnd = Math.min(lf, cr);
      if (quote >= lineEnd) {
        // A CR that ends the piece may be half of a CRLF.
        if (!last && (lineEnd === length || (lineEnd === cr && cr === length - 1))) break;
        if (!this.#isBlankLine(text, position, lineEnd)) {
          rows.push(new PlainRow(this.#line, piece, position, lineEnd));
        }
        position = lineEnd === cr && lf === cr + 1 ? lf + 1 : lineEnd + 1;
        this.#line += 1;
      } else {
        const row = this.#readQuotedRow(text, position, lineEnd, last);
        if (row === undefined) break;
        const { cells, next, lines } = row;
        const isUnended = next === length && !/[\r\n]/.test(text.charAt(length - 1));
        if (!isBlank(cells)) rows.push({ line: this.#line, cells, isUnended });
        position = next;
        this.#line += lines;
      }
    }
    this.#rest = text.slice(position);
    this.#nextLength = 2 * this.#rest.length;
    if (this.#rest.length > MAX_ROW_LENGTH) throw this.#tooLong();
    return rows;
  }

  /** One row cell by cell; undefined when its end is not in `text` yet. `lineEnd` is the first line break in it. */
  #readQuotedRow(
    text: string,
    start: number,
    lineEnd: number,
    last: boolean,
  ): { cells: string[]; next: number; lines: number } | undefined {
    const { length } = text;
    const cells: string[] = [];
    let lines = 0;
    let position = start;
    for (;;) {
      let afterQuoted = false;
      if (text.charCodeAt(position) === QUOTE) {
        const open = position + 1;
        let close = text.indexOf('"', open);
        let doubled = false;
        while (close !== -1 && text.charCodeAt(close + 1) === QUOTE) {
          doubled = true;
          close = text.indexOf('"', close + 2);
        }
        if (close === -1 && last) throw this.#neverClosed(this.#line + lines);
        // A quote that ends the piece may be the first of a doubled one.
        if (close === -1 || (close + 1 >= length && !last)) return undefined;
        const cell = text.slice(open, close);
        cells.push(doubled ? cell.replaceAll('""', '"') : cell);
        if (close > lineEnd) lines += countLineBreaks(cell);
        position = close + 1;
        while (this.#isPadding(text.charCodeAt(position))) position += 1;
        afterQuoted = true;
      } else {
        const from = position;
        position = this.#endOfPlainCell(text, position, lineEnd);
        cells.push(text.slice(from, position));
      }
      if (position >= length) return last ? { cells, next: length, lines: lines + 1 } : undefined;
      const code = text.charCodeAt(position);
      position += 1;
      if (code === this.#delimiterCode) continue;
      if (code === LF) return { cells, next: position, lines: lines + 1 };
      if (code === CR) {
        if (position === length && !last) return undefined;
        const next = text.charCodeAt(position) === LF ? position + 1 : position;
        return { cells, next, lines: lines + 1 };
      }
      if (afterQuoted) {
        throw this.#textAfterQuote(
          this.#line + lines,
          cells.at(-1) ?? '',
          text[position - 1] ?? '',
        );
      }
    }
  }

  #endOfPlainCell(text: string, start: number, lineEnd: number): number {
    if (start <= lineEnd) {
      if (this.#nextDelimiter < start) {
        this.#nextDelimiter = indexOrEnd(text, this.#delimiter, start);
      }
      return Math.min(this.#nextDelimiter, lineEnd);
    }
    // Behind a quoted cell of several lines the next line break is not known.
    let position = start;
    for (; position < text.length; position += 1) {
      const code = text.charCodeAt(position);
      if (code === this.#delimiterCode || code === LF || code === CR) break;
    }
    return position;
  }

  #isBlankLine(text: string, start: number, end: number): boolean {
    const code = text.charCodeAt(start);
    // Nearly every line begins with an ASCII character that is no space, and that settles it.
    if (code > SPACE && code < FIRST_NON_ASCII && code !== this.#delimiterCode && start < end) {
      return false;
    }
    return isBlank(text.slice(start, end).split(this.#delimiter));
  }

  #isPadding(code: number): boolean {
    return (code === SPACE || code === TAB) && code !== this.#delimiterCode;
  }

  #neverClosed(line: number) {
    return inputError(
      `${this.#name}, line ${line}: a quote opens here and is never closed`,
      'Close the quoted cell, and write a quote inside it twice ("").',
    );
  }

  #tooLong() {
    const mib = MAX_ROW_LENGTH / 1024 / 1024;
    return inputError(
      `${this.#name}, line ${this.#line}: the row that begins here is longer than ${mib} MiB`,
      openQuoteHint(this.#rest),
    );
  }

  #textAfterQuote(line: number, cell: string, found: string) {
    return inputError(
      `${this.#name}, line ${line}: ${shown(found)} follows the closing quote of ${shown(cell)}`,
      'A delimiter or the end of the line must follow. Is a quote not closed before it, or not doubled inside the cell?',
    );
  }
}

/** Why a row has no end, where a quote can be why. */
export function openQuoteHint(row: string): string | undefined {
  return row.includes('"')
    ? 'A quote that opens on this line is probably never closed.'
    : undefined;
}

/** Whether a row holds nothing: an empty line, or the bare delimiters that spreadsheets leave below a table. */
function isBlank(cells: readonly string[]): boolean {
  return cells.every((cell) => cell === '' || cell.trim() === '');
}

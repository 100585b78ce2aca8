import { inputError, shown } from './errors.ts';
import { countLineBreaks, LineSplitter, PlainRow } from './lines.ts';
import type { Row } from './types.ts';

const LF = 10;
const CR = 13;
const TAB = 9;
const SPACE = 32;
const QUOTE = 34;

interface CsvReaderOptions {
  /** One character. */
  delimiter: string;
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
export class CsvReader extends LineSplitter<Row> {
  readonly #delimiter: string;

  constructor({ delimiter, name, firstLine = 1 }: CsvReaderOptions) {
    const make = (line: number, text: string, start: number, end: number) =>
      new PlainRow(line, text, start, end, delimiter);
    super(name, firstLine, make, delimiter);
    this.#delimiter = delimiter;
  }

  protected override readQuoted(text: string, start: number, lineEnd: number, isLast: boolean) {
    const { length } = text;
    const cells: string[] = [];
    let lines = 0;
    let position = start;
    for (;;) {
      if (text.charCodeAt(position) === QUOTE) {
        const open = position + 1;
        const close = closingQuote(text, open);
        if (close === -1 && isLast) throw this.#neverClosed(lines);
        if (close === -1) return undefined;
        const cell = text.slice(open, close);
        cells.push(cell.includes('"') ? cell.replaceAll('""', '"') : cell);
        if (close > lineEnd) lines += countLineBreaks(cell);
        position = close + 1;
        while (this.#isPadding(text.charCodeAt(position))) position += 1;
      } else {
        const end = this.#endOfPlainCell(text, position, lineEnd);
        cells.push(text.slice(position, end));
        position = end;
      }
      const isUnended = position >= length;
      const code = text.charCodeAt(position);
      position += 1;
      if (code === this.delimiterCode) continue;
      // A quote that ends the piece may be the first of a doubled one, and a CR half of a CRLF.
      if (!isLast && (isUnended || (code === CR && position === length))) return undefined;
      if (code === CR && text.charCodeAt(position) === LF) position += 1;
      if (!isUnended && code !== LF && code !== CR)
        throw this.#textAfterQuote(lines, cells, text[position - 1]);
      const made = isBlank(cells) ? undefined : { line: this.line, cells, isUnended };
      return { made, next: position, lines: lines + 1 };
    }
  }

  #endOfPlainCell(text: string, start: number, lineEnd: number): number {
    if (start <= lineEnd) {
      const at = text.slice(start, lineEnd).indexOf(this.#delimiter);
      return at === -1 ? lineEnd : start + at;
    }
    // Behind a quoted cell of several lines the next line break is not known.
    let position = start;
    for (; position < text.length; position += 1) {
      const code = text.charCodeAt(position);
      if (code === this.delimiterCode || code === LF || code === CR) break;
    }
    return position;
  }

  #isPadding(code: number): boolean {
    return (code === SPACE || code === TAB) && code !== this.delimiterCode;
  }

  protected override isBlankLine(line: string): boolean {
    return isBlank(line.split(this.#delimiter));
  }

  #neverClosed(lines: number) {
    return inputError(
      `${this.name}, line ${this.line + lines}: a quote opens here and is never closed`,
      'Close the quoted cell, and write a quote inside it twice ("").',
    );
  }

  #textAfterQuote(lines: number, cells: readonly string[], found = '') {
    return inputError(
      `${this.name}, line ${this.line + lines}: ${shown(found)} follows the closing quote of ${shown(cells.at(-1) ?? '')}`,
      'A delimiter or the end of the line must follow. Is a quote not closed before it, or not doubled inside the cell?',
    );
  }

  protected override tooLong(row: string) {
    return super.tooLong(row, 'the row that begins here is ', openQuoteHint(row));
  }
}

/** The quote that closes a cell is not doubled. -1 where there is none. */
function closingQuote(text: string, open: number): number {
  let close = text.indexOf('"', open);
  while (close !== -1 && text.charCodeAt(close + 1) === QUOTE) close = text.indexOf('"', close + 2);
  return close;
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

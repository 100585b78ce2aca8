import {
  cellNumber,
  columnOf,
  MAX_COLUMNS,
  numberText,
  type Range,
  since1900,
  unescaped,
} from './book-cells.ts';
import type { SharedTexts } from './shared-texts.ts';
import type { BookCell } from './types.ts';
import { type Attributes, MAX_TEXT_LENGTH, type Sheet, type Workbook } from './workbook.ts';

/** A row of a sheet that holds something. */
export interface SheetRow {
  /** The number that Excel shows. */
  line: number;
  /** What a person sees, and would type. */
  cells: string[];
  /** By the index of the cell. */
  book: Record<number, BookCell>;
  /** Whether a cell of it is a sum. */
  isSum: boolean;
}

/** What a sheet holds in Excel itself. */
const MAX_ROWS = 1_048_576;
const MAX_ROW_LENGTH = 8 * 1024 * 1024;

/** The formula of a link, up to its address. */
const HYPERLINK = /^HYPERLINK\(\s*"((?:[^"]|"")*)"/i;
const SUM = /\b(?:SUM|SUBTOTAL|AGGREGATE)\(/i;

/** Adds the texts that cells refer to by number. */
export async function readTexts(book: Workbook, path: string, texts: SharedTexts): Promise<void> {
  const reader = new TextReader(book);
  reader.onClose = (name) => {
    if (name !== 'si') return;
    texts.add(unescaped(reader.value));
    reader.value = '';
  };
  for await (const _ of book.read(path, reader));
}

/** The rows of a sheet, in arrays of those that are read at once. */
export async function* sheetRows(
  book: Workbook,
  sheet: Sheet,
  texts: SharedTexts,
): AsyncGenerator<SheetRow[]> {
  const { links, merges } = await book.places(sheet, texts);
  const reader = new SheetReader(book, texts, links, mergedCells(merges));
  for await (const _ of book.read(sheet.path, reader)) {
    if (reader.rows.length === 0) continue;
    yield reader.rows;
    reader.rows = [];
  }
}

/** Gathers the value and the formula of a cell. Texts in several fonts become one, and how a text is pronounced is left out. */
class TextReader {
  value = '';
  formula = '';
  onClose: (name: string) => void = () => {};
  protected readonly book: Workbook;
  #into: 'value' | 'formula' | undefined;
  #isPhonetic = false;

  constructor(book: Workbook) {
    this.book = book;
  }

  open(name: string, _attributes: Attributes): void {
    if (name === 'rPh') this.#isPhonetic = true;
    if (name === 'v' || (name === 't' && !this.#isPhonetic)) this.#into = 'value';
    if (name === 'f') this.#into = 'formula';
  }

  close(name: string): void {
    if (name === 'rPh') this.#isPhonetic = false;
    this.#into = undefined;
    this.onClose(name);
  }

  text(text: string): void {
    if (this.#into === undefined) return;
    this[this.#into] += text;
    if (this[this.#into].length > MAX_TEXT_LENGTH) throw this.book.tooLong();
  }
}

class SheetReader extends TextReader {
  rows: SheetRow[] = [];
  readonly #texts: SharedTexts;
  readonly #links: ReadonlyMap<number, number>;
  #row: SheetRow = { line: 0, cells: [], book: {}, isSum: false };
  #length = 0;
  #rowCount = 0;
  #column = -1;
  #type = '';
  #format = '';

  constructor(
    book: Workbook,
    texts: SharedTexts,
    links: ReadonlyMap<number, number>,
    fill: (row: SheetRow) => void,
  ) {
    super(book);
    this.#texts = texts;
    this.#links = links;
    this.onClose = (name) => {
      if (name === 'c') this.#addCell();
      if (name !== 'row') return;
      fill(this.#row);
      if (this.#row.cells.some(isFilled)) this.rows.push(this.#row);
    };
  }

  override open(name: string, attributes: Attributes): void {
    if (name === 'c') {
      const { r, t = 'n', s } = attributes;
      this.#column = r === undefined ? this.#column + 1 : columnOf(r);
      this.#type = t;
      this.#format = this.book.formats[Number(s)] ?? '';
      this.value = '';
      this.formula = '';
    } else if (name === 'row') {
      this.#rowCount += 1;
      this.book.limit(this.#rowCount, MAX_ROWS, 'rows');
      const line = Number(attributes['r'] ?? this.#row.line + 1);
      this.#row = { line, cells: [], book: {}, isSum: false };
      this.#column = -1;
      this.#length = 0;
    } else super.open(name, attributes);
  }

  #addCell(): void {
    const row = this.#row;
    const type = this.#type;
    const column = this.#column;
    if (type === 'n' && this.book.is1904) this.value = since1900(this.value, this.#format);
    const { value, formula } = this;
    if (SUM.test(formula)) row.isSum = true;
    const address = HYPERLINK.exec(formula)?.[1]?.replaceAll('""', '"');
    // Some programs write formulas without their results, and without a type. A result that is a text may be empty.
    const unknown = type === 'str' || formula === '' ? '' : `=${formula}`;
    const text = this.#shown() || address || unknown;
    if (text === '') return;
    if (text === unknown) this.book.uncalculated += 1;
    this.#length += text.length;
    if (column >= MAX_COLUMNS || this.#length > MAX_ROW_LENGTH) {
      throw this.book.tooMuch(`has a row ${row.line} with too many or too long cells`);
    }
    while (row.cells.length < column) row.cells.push('');
    row.cells[column] = text;
    const cell: BookCell = {};
    if (/^[nbe]$/.test(type) && value !== '') Object.assign(cell, { type, value });
    if (cell.type === 'n' && this.#format !== '') cell.format = this.#format;
    const target = this.#links.get(cellNumber(row.line, column));
    const link = address ?? (target === undefined ? '' : this.#texts.get(target));
    if (/^https?:/i.test(link)) cell.link = link;
    if (cell.type !== undefined || cell.link !== undefined) row.book[column] = cell;
  }

  /** What the cell shows. */
  #shown(): string {
    const { value } = this;
    if (value === '') return '';
    switch (this.#type) {
      case 's':
        return this.#texts.get(Number(value));
      case 'n':
        return numberText(value, this.#format);
      case 'b':
        return value === '1' ? 'TRUE' : 'FALSE';
      case 'd':
        return value.replace(/T00:00(?::00)?(?:\.0+)?Z?$/, '').replace('T', ' ');
      default:
        return unescaped(value);
    }
  }
}

function isFilled(cell: string): boolean {
  return cell.trim() !== '';
}

/** Cells that are merged downwards show the value of the first one in each of their rows. A row needs something of its own to be one. */
function mergedCells(merges: readonly Range[]): (row: SheetRow) => void {
  const waiting = merges
    .filter(({ top, bottom }) => bottom > top)
    .sort((one, other) => other.top - one.top);
  let active: { left: number; bottom: number; text: string; cell: BookCell | undefined }[] = [];
  return ({ line, cells, book }) => {
    active = active.filter(({ bottom }) => bottom >= line);
    const isRow = active.length > 0 && cells.some(isFilled);
    for (const { left, text, cell } of isRow ? active : []) {
      while (cells.length <= left) cells.push('');
      if (isFilled(cells[left] ?? '')) continue;
      cells[left] = text;
      if (cell !== undefined) book[left] = cell;
    }
    for (let next = waiting.at(-1); next !== undefined && next.top <= line; next = waiting.at(-1)) {
      waiting.pop();
      const { top, left, bottom } = next;
      const text = cells[left] ?? '';
      if (top === line && text !== '') active.push({ left, bottom, text, cell: book[left] });
    }
  };
}

import { looksLikeUrl, parseExactly, toCell } from './cells.ts';
import { decodeFile } from './decode.ts';
import { inputError, shown } from './errors.ts';
import type { TableLayout } from './layout.ts';
import { LineSplitter, lazyRows, type MakeLine, type Parsed } from './lines.ts';
import type { Input } from './open-input.ts';
import { CsvReader } from './read-csv.ts';
import type { BookCell, Plan, Row } from './types.ts';

/**
 * All rows of the input below its header, in arrays of those that one read completes: a promise for every row would
 * cost more than reading it. For JSON Lines, `layout.plan.columns` gains the keys as they are met.
 * @param onBytes - called with the number of bytes of each read of the file, as they are on the disk
 */
export async function* readRows(
  input: Pick<Input, 'path' | 'name' | 'packing'>,
  layout: Pick<TableLayout, 'plan' | 'preamble' | 'firstLine' | 'sheetRows'>,
  onBytes?: (bytes: number) => void,
): AsyncGenerator<Row[]> {
  const { plan, preamble } = layout;
  const reader = createReader(input.name, plan, layout.firstLine);
  // The keys of JSON Lines are no row of their own.
  let skip = plan.hasHeader && plan.format !== 'jsonl' ? 1 : 0;
  let skipCharacters = preamble.length;
  const below = (rows: Row[]): Row[] => {
    skip -= rows.splice(0, skip).length;
    return rows;
  };
  const { path, name, packing } = input;
  const options = { name, encoding: plan.encoding, packing, onBytes };
  for await (const piece of decodeFile(layout.sheetRows ?? path, options)) {
    const rows = below(reader.push(piece.slice(skipCharacters)));
    skipCharacters = Math.max(0, skipCharacters - piece.length);
    if (rows.length > 0) yield rows;
  }
  const rows = below(reader.end());
  if (rows.length > 0) yield rows;
}

/** @param firstLine - number of the line that the text begins with */
export function createReader(
  name: string,
  plan: Pick<Plan, 'format' | 'delimiter' | 'columns'> & Partial<Pick<Plan, 'mapping'>>,
  firstLine: number,
): LineSplitter<Row> {
  switch (plan.format) {
    case 'urls':
      return new LineSplitter(name, firstLine, toUrlRow);
    case 'jsonl':
      return new LineSplitter(name, firstLine, jsonRows(name, plan.columns));
    case 'xlsx':
      return new LineSplitter(name, 1, bookRows(plan));
    default:
      return new CsvReader({ name, delimiter: plan.delimiter ?? ',', firstLine });
  }
}

/** The most different keys one input may have: each becomes a column of the results file. */
const MAX_COLUMNS = 1000;

/**
 * JSON Lines: one object a line. Its keys are the columns, in the order in which they first appear; text stands as it
 * is, everything else as JSON. A line that is no object becomes a row with a `problem`, so that one bad line among a
 * million is a reject like any other.
 * @param name - of the file in messages
 * @param columns - gains the keys of each row that is looked into
 */
function jsonRows(name: string, columns: string[]): MakeLine<Row> {
  const indexes = new Map(columns.map((key, index) => [key, index]));
  const addColumn = (key: string, line: number): void => {
    if (columns.length === MAX_COLUMNS) {
      throw inputError(
        `${name}, line ${line}: more than ${MAX_COLUMNS} different keys so far`,
        'Each key becomes a column of the results file: leave out those that are not needed.',
      );
    }
    indexes.set(key, columns.length);
    columns.push(key);
  };
  const cellsOf = (object: Values): string[] => {
    const cells: string[] = [];
    for (const key in object) {
      const next = cells.length;
      // Most lines have the keys of the columns, in their order.
      const index = columns[next] === key ? next : (indexes.get(key) ?? 0);
      while (cells.length < index) cells.push('');
      cells[index] = toCell(object[key]);
    }
    return cells;
  };
  return lazyRows((text, line) => {
    const object = parseObject(text);
    if (object === undefined) {
      return { cells: [], text, problem: `not a JSON object: ${shown(text)}` };
    }
    let next = 0;
    for (const key in object) {
      // Each level takes a character at least, so a short line needs no look.
      if (text.length > MAX_NESTING && isDeeperThan(MAX_NESTING, object[key])) {
        return { cells: [], text, problem: `${shown(key)} is nested too deep: ${shown(text)}` };
      }
      if (columns[next++] !== key && !indexes.has(key)) addColumn(key, line);
    }
    return new ParsedObject(object, cellsOf);
  });
}

type Values = Readonly<Record<string, unknown>>;

/**
 * Makes its cells where they are read: most readers take the values of the object. As a class, since the engine would keep what it
 * knows of each object that is written down with a getter, which took three times as long as the parsing.
 */
class ParsedObject implements Parsed {
  readonly object: Values;
  readonly #cellsOf: (object: Values) => string[];

  constructor(object: Values, cellsOf: (object: Values) => string[]) {
    this.object = object;
    this.#cellsOf = cellsOf;
  }

  get cells(): readonly string[] {
    return this.#cellsOf(this.object);
  }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value = parseExactly(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Levels of arrays and objects in a value. Writing some thousands of them as JSON again would overflow the stack. */
const MAX_NESTING = 500;

function isDeeperThan(levels: number, value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false;
  if (levels === 0) return true;
  const items: readonly unknown[] = Array.isArray(value) ? value : Object.values(value);
  return items.some((item) => isDeeperThan(levels - 1, item));
}

/** Name of the only column of a URL list. */
export const URL_LIST_COLUMN = 'target_url';

function toUrlRow(...[line, text, start, end]: Parameters<MakeLine<Row>>): Row {
  return { line, cells: [text.slice(start, end).trim()] };
}

type Mapped = Partial<Pick<Plan, 'columns' | 'mapping'>>;

/** The rows of a spreadsheet, each of which was unpacked to a line that begins with its number. */
function bookRows(plan: Mapped): MakeLine<Row> {
  const toRow = lazyRows((text) => parseSheetRow(text, plan));
  return (_line, text, start, end) =>
    toRow(Number.parseInt(text.slice(start + 1, end), 10), text, start, end);
}

/** A linked cell counts as its link where the target stands, unless it shows a URL itself; without a mapping, everywhere. */
function parseSheetRow(text: string, { columns, mapping }: Mapped): Parsed {
  const [, cells, book, isSum]: [number, string[], Record<number, BookCell>, boolean] =
    JSON.parse(text);
  for (const [at, cell] of Object.entries(book)) {
    const shows = cells[Number(at)] ?? '';
    const isTarget = mapping === undefined || mapping.target_url === Number(at);
    if (cell.link === undefined || !isTarget || looksLikeUrl(shows)) continue;
    cell.text = shows;
    cells[Number(at)] = cell.link;
  }
  // Cells that are empty at the end of a row are not stored.
  while (cells.length < (columns?.length ?? 0)) cells.push('');
  return { cells, book, isSum };
}

import { inputError, shown } from '../errors.ts';
import type { Row } from '../types.ts';
import { type Line, LineSplitter } from './lines.ts';
import type { RowReader } from './row.ts';

/** The most different keys one input may have: each becomes a column of the results file. */
const MAX_COLUMNS = 1000;

/**
 * JSON Lines: one object a line. Its keys are the columns, in the order in which they first appear; text stands as it
 * is, everything else as JSON. A line that is no object becomes a row with a `problem`, so that one bad line among a
 * million is a reject like any other.
 */
export class JsonlReader implements RowReader {
  /** Every key met so far. */
  readonly columns: string[];
  readonly #indexes: Map<string, number>;
  readonly #lines: LineSplitter;
  readonly #name: string;

  /**
   * @param name name of the file in messages
   * @param columns keys that are known already; new ones are added to it
   * @param firstLine number of the first line that will be pushed
   */
  constructor(name: string, columns: string[] = [], firstLine = 1) {
    this.#name = name;
    this.#lines = new LineSplitter(name, firstLine);
    this.columns = columns;
    this.#indexes = new Map(columns.map((key, index) => [key, index]));
  }

  push(text: string): Row[] {
    return this.#lines.push(text).map((line) => this.#toRow(line));
  }

  end(): Row[] {
    return this.#lines.end().map((line) => this.#toRow(line));
  }

  #toRow({ line, text }: Line): Row {
    const object = parseObject(text);
    if (object === undefined) {
      return { line, cells: [], problem: `not a JSON object: ${shown(text)}` };
    }
    const cells: string[] = [];
    for (const [key, value] of Object.entries(object)) {
      const index = this.#indexes.get(key) ?? this.#addColumn(key, line);
      while (cells.length < index) cells.push('');
      cells[index] = toCell(value);
    }
    return { line, cells, object };
  }

  #addColumn(key: string, line: number): number {
    const index = this.columns.length;
    if (index === MAX_COLUMNS) {
      throw inputError(
        `${this.#name}, line ${line}: more than ${MAX_COLUMNS} different keys so far`,
        'Each key becomes a column of the results file: leave out those that are not needed.',
      );
    }
    this.columns.push(key);
    this.#indexes.set(key, index);
    return index;
  }
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function toCell(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
}

/** Name of the only column of a URL list. */
export const URL_LIST_COLUMN = 'target_url';

/** A plain list: one URL a line. */
export class UrlListReader implements RowReader {
  readonly #lines: LineSplitter;

  /**
   * @param name name of the file in messages
   * @param firstLine number of the first line that will be pushed
   */
  constructor(name: string, firstLine = 1) {
    this.#lines = new LineSplitter(name, firstLine);
  }

  push(text: string): Row[] {
    return this.#lines.push(text).map(toUrlRow);
  }

  end(): Row[] {
    return this.#lines.end().map(toUrlRow);
  }
}

function toUrlRow({ line, text }: Line): Row {
  return { line, cells: [text.trim()] };
}

/** The rows of a spreadsheet as {@link unpackSheet} writes them: one JSON array a line, `[row number, cells]`. */
export class SheetReader implements RowReader {
  readonly #lines: LineSplitter;

  /** @param name name of the file in messages */
  constructor(name: string) {
    this.#lines = new LineSplitter(name);
  }

  push(text: string): Row[] {
    return this.#lines.push(text).map(toSheetRow);
  }

  end(): Row[] {
    return this.#lines.end().map(toSheetRow);
  }
}

function toSheetRow({ text }: Line): Row {
  const [line, cells]: [number, string[]] = JSON.parse(text);
  return { line, cells };
}

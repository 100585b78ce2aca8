import { inputError } from '../errors.ts';
import { looksLikeUrl } from '../read/detect-format.ts';
import type { Layout } from '../read/layout.ts';
import { dropFormulaGuard } from '../report/csv-cell.ts';
import type { Row, RowStatus } from '../types.ts';
import { trimmed } from './cells.ts';

/** Columns that an import adds to the input's own, in this order. */
export const RESULT_COLUMNS = ['code', 'short_url', 'status', 'error'] as const;

export type ResultColumn = (typeof RESULT_COLUMNS)[number];

/** Where the columns of an earlier import are in an input, by index. */
export type ResultColumns = Partial<Record<ResultColumn, number>>;

/**
 * The result columns of an input: side by side as we write them, the last ones where there are several; or else all four with their
 * very names in any order. Exports of other services have columns such as `code` and `short_url` too, but those are other links.
 */
export function findResultColumns(columns: readonly string[]): ResultColumns {
  const { length } = RESULT_COLUMNS;
  for (let first = columns.length - length; first >= 0; first -= 1) {
    if (RESULT_COLUMNS.every((name, index) => columns[first + index] === name)) {
      return resultColumnsAt((_, index) => first + index);
    }
  }
  const isComplete = RESULT_COLUMNS.every((name) => columns.includes(name));
  return isComplete ? resultColumnsAt((name) => columns.lastIndexOf(name)) : {};
}

function resultColumnsAt(place: (name: ResultColumn, index: number) => number): ResultColumns {
  return Object.fromEntries(RESULT_COLUMNS.map((name, index) => [name, place(name, index)]));
}

/**
 * Refuses a row that says that its link was created, where somebody has deleted some of the result columns, or of its keys in
 * JSON Lines: the link would be created again.
 *
 * @param service - address of the service, which its short URLs may begin with
 * @returns a function that throws a CliError (exit code 2) for such a row
 */
export function partOfResultsGuard(
  name: string,
  layout: Pick<Layout, 'plan' | 'resultColumns'>,
  service: string,
): (row: Row) => void {
  const { columns, format } = layout.plan;
  const find = () => resultColumnsAt((column) => columns.lastIndexOf(column));
  // JSON Lines may still add to the columns.
  const found = format === 'jsonl' ? undefined : find();
  if (found !== undefined && !isPart(missingColumns(found))) return () => {};
  return (row) => {
    const { cells, line, object } = row;
    const present = found ?? find();
    const missing = missingColumns(present, object);
    if (!isPart(missing) || ownLink(row, layout) !== undefined) return;
    const { code, short_url, status } = resultCells(cells, present);
    const isCreated = missing.includes('status')
      ? missing.length === 1 || short_url.startsWith(`${service}/`)
      : status === 'created';
    if (!isCreated || (short_url === '' && (code === '' || !missing.includes('short_url')))) return;
    const list = missing.map((column) => JSON.stringify(column)).join(', ');
    throw inputError(
      `${name}, line ${line}: the row has a link of an earlier import, but no ${list}, so the link would be created again`,
      'Import the file as that import wrote it. If the row is no result of an import, give these columns other names.',
    );
  };
}

function missingColumns(found: ResultColumns, object?: object): readonly ResultColumn[] {
  return RESULT_COLUMNS.filter(
    (column) => found[column] === -1 || (object && !Object.hasOwn(object, column)),
  );
}

function isPart({ length }: readonly ResultColumn[]): boolean {
  return length > 0 && length < RESULT_COLUMNS.length - 1;
}

/** The link that a row of a results file names, which exists whatever else is known. */
export interface OwnLink {
  code: string;
  short_url: string;
}

/** The link that the row itself names. */
export function ownLink(
  { cells }: Row,
  { resultColumns }: { resultColumns: ResultColumns },
): OwnLink | undefined {
  const { code, short_url } = resultCells(cells, resultColumns);
  if (short_url === '' || strayCell(cells, resultColumns) !== undefined) return undefined;
  return { code: code || short_url.slice(short_url.lastIndexOf('/') + 1), short_url };
}

/** The words that an import writes into `status`. */
const STATUSES: ReadonlySet<string> = new Set([
  'created',
  'rejected',
  'failed',
  'unknown',
  'unsent',
] satisfies RowStatus[]);

/**
 * Text that stands in the result columns, though no import wrote it: the end of a row that was appended with a delimiter
 * that is not quoted. Without the result columns it would have too many cells. A short URL with its code is no such thing:
 * somebody may have written in a link that exists.
 */
export function strayCell(
  cells: readonly string[],
  resultColumns: ResultColumns,
): string | undefined {
  if (resultColumns.status === undefined) return undefined;
  const { code, short_url, status } = resultCells(cells, resultColumns);
  const isLink = looksLikeUrl(short_url) && short_url.endsWith(code);
  if (isLink || hasStatus(cells, resultColumns)) return undefined;
  return code || short_url || status || undefined;
}

/** Whether an import has written the results of the row. */
export function hasStatus(cells: readonly string[], resultColumns: ResultColumns): boolean {
  return STATUSES.has(resultCells(cells, resultColumns).status);
}

function resultCells(cells: readonly string[], resultColumns: ResultColumns) {
  const read = (name: ResultColumn) => {
    const index = resultColumns[name];
    return index === undefined ? '' : trimmed(cells[index] ?? '');
  };
  // A code may begin like a formula.
  return {
    code: dropFormulaGuard(read('code')),
    short_url: read('short_url'),
    status: read('status'),
  };
}

import { inputError } from '../errors.ts';
import { looksLikeUrl } from '../read/detect-format.ts';
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
 * Refuses a file from which somebody has deleted some of the result columns, though its rows still say that their links were
 * created: they would be created again.
 *
 * @throws CliError (exit code 2)
 */
export function refusePartOfResults(
  name: string,
  columns: readonly string[],
  samples: readonly Pick<Row, 'cells'>[],
): void {
  const found = resultColumnsAt((column) => columns.lastIndexOf(column));
  const missing = RESULT_COLUMNS.filter((column) => found[column] === -1);
  if (missing.length === 0) return;
  const isCreated = samples.some(({ cells }) => {
    const { code, short_url, status } = resultCells(cells, found);
    const isLink = looksLikeUrl(short_url) || (code !== '' && found.short_url === -1);
    const isOurs = missing.join() === 'status' || status === 'created';
    return isLink && isOurs;
  });
  if (!isCreated) return;
  throw inputError(
    `${name} looks like the results of an earlier import without ${missing.join(' and ')}: its links would be created again`,
    'Import it as that import wrote it. If these are links of another service, give the columns other names.',
  );
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

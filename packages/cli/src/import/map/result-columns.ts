import type { Row } from '../types.ts';

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

/** The link that a row of a results file names, which exists whatever else is known. */
export interface OwnLink {
  code: string;
  short_url: string;
}

/** The link that the row itself names. */
export function ownLink(
  row: Row,
  { resultColumns }: { resultColumns: ResultColumns },
): OwnLink | undefined {
  if (resultColumns.short_url === undefined) return undefined;
  const short_url = row.cells[resultColumns.short_url]?.trim() ?? '';
  if (short_url === '') return undefined;
  const code = resultColumns.code === undefined ? '' : row.cells[resultColumns.code]?.trim();
  return { code: code || short_url.slice(short_url.lastIndexOf('/') + 1), short_url };
}

import { detectTable, type TableLayout } from '@shortlink/tables';
import type { AddedColumns } from '@shortlink/tables/basics';
import { findResultColumns, type ResultColumns } from './map/result-columns.ts';

/** How to read an input, and what an earlier import has made of it. */
export interface Layout extends Omit<TableLayout, 'samples'> {
  /** The columns of an earlier import that are in a table, by index: all four, or none. A line of JSON Lines has its own. */
  resultColumns: ResultColumns;
  /** The rejects of an earlier import, with the number of a line in the last column but one. */
  isRejects: boolean;
  /** This tool wrote the file: the apostrophes that made formulas harmless are removed again. */
  isOwnFile: boolean;
  /** It wrote it for JSON Lines, of which each had its own keys. */
  isOfLines: boolean;
}

const RESULTS: AddedColumns = {
  header: /^[^\r\n]*code([^\r\n])short_url\1status\1error/,
  find: findResultColumns,
};

/** The names that rejects and results of JSON Lines have, unless the user names them: nothing in a table tells. */
const TABLE_OF_LINES =
  /\.(?:jsonl|ndjson|json)(?:\.gz)?(?:\.(?:results|rejects)\.csv)+(?:\.old\d*)?$/i;

/** @throws InputError when the input can't be imported as it is, or an option doesn't fit it */
export async function detectLayout(
  input: Parameters<typeof detectTable>[0],
  settings: Parameters<typeof detectTable>[1],
): Promise<Layout> {
  const { samples, ...table } = await detectTable(input, { ...settings, added: RESULTS });
  const { columns, format, hasHeader } = table.plan;
  const isLines = format === 'jsonl';
  const resultColumns = hasHeader && !isLines ? findResultColumns(columns) : {};
  // A table of somebody else may end with columns of these names.
  const isRejects =
    columns.at(-2) === 'line' &&
    columns.at(-1) === 'reason' &&
    samples.some(({ cells }) => /^\d+$/.test(cells[columns.length - 2] ?? ''));
  // JSON needs no apostrophe before a formula, so one that it holds is the user's own.
  const isOwnFile = !isLines && (isRejects || resultColumns.status !== undefined);
  const isOfLines = isOwnFile && TABLE_OF_LINES.test(input.name);
  return { ...table, resultColumns, isRejects, isOwnFile, isOfLines };
}

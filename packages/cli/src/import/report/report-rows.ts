import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import type { Checked, Source } from '../check/check-input.ts';
import type { Comparison, ExistingLinks } from '../check/existing-links.ts';
import { inputError } from '../errors.ts';
import type { Journal } from '../journal/journal.ts';
import { type LinkResult, unpackResult } from '../journal/packed-results.ts';
import {
  findResultColumns,
  hasStatus,
  type OwnLink,
  ownLink,
  RESULT_COLUMNS,
  strayText,
} from '../map/result-columns.ts';
import type { Layout } from '../read/layout.ts';
import type { Input } from '../read/open-input.ts';
import { readRows } from '../read/read-rows.ts';
import type { SentBatch } from '../send/batch-recorder.ts';
import type { ImportSettings, Row, RowStatus } from '../types.ts';
import { csvCell } from './csv-cell.ts';
import type { OutputFile } from './output-file.ts';

/** Outcome of one row, as its line in the results names it. */
export type Outcome =
  | { status: 'created'; code: string; short_url: string }
  | {
      status: Exclude<RowStatus, 'created'>;
      error: string;
      /** The link that a rejected row names though it is that of another row. In place it stays there, so that the row stays rejected. */
      own?: OwnLink | undefined;
    };

interface ReportInput {
  source: Source;
  journal: Journal;
  checked: Checked;
  comparison: Comparison | undefined;
  existing: ExistingLinks | undefined;
  /** The batches of new rows, in the order of the rows. */
  batches: readonly SentBatch[];
  /** `--limit`, where that is why rows were not sent. */
  limit: number | undefined;
}

/** Reads the input once more and writes a line for each row, as the journal knows it. */
export async function reportRows(
  report: ReportInput,
  format: ResultsFormat,
  output: OutputFile,
): Promise<void> {
  const { source, checked, comparison, existing } = report;
  const matches = existing?.matches();
  const sent = sentOutcomes(report);
  const left = unsent(report.limit);
  const outcomeOf = (row: Row, number: number): Outcome => {
    const own = ownLink(row, source.layout);
    if (checked.rejectedRows.has(number)) {
      const error = checked.copies.get(number) ?? source.rules.check(row).problem ?? '';
      return { status: 'rejected', error, own };
    }
    if (own !== undefined) return { status: 'created', ...own };
    if (comparison?.matched.has(number)) return matches?.next().value ?? left;
    return sent.next().value ?? left;
  };
  await output.write(format.header);
  let number = 0;
  for await (const rows of readRows(source.input, source.layout)) {
    let text = '';
    for (const row of rows) {
      text += format.line(row, outcomeOf(row, number));
      number += 1;
    }
    await output.write(text);
  }
}

function unsent(limit: number | undefined): Outcome {
  const error =
    limit === undefined
      ? 'the import ended before this row was sent'
      : `left for another run by --limit ${limit}`;
  return { status: 'unsent', error };
}

/** The outcomes of the new rows, one after the other; undefined for those that were not sent. */
function* sentOutcomes({ journal, batches }: ReportInput): Generator<LinkResult | undefined> {
  let position = 0;
  for (const { first, count, id } of batches) {
    for (; position < first; position += 1) yield undefined;
    const results = journal.results(id);
    for (let index = 0; index < count; index += 1) yield unpackResult(results, index);
    position += count;
  }
}

/** Makes the lines of the results file: the input's own columns, then the outcome of the row. */
interface ResultsFormat {
  /** What comes before the first row. */
  header: string;
  line(row: Row, outcome: Outcome): string;
}

export function createResultsFormat(
  { outputFormat, inPlace }: Pick<ImportSettings, 'outputFormat' | 'inPlace'>,
  layout: Layout,
): ResultsFormat {
  const isJsonl = inPlace ? layout.plan.format === 'jsonl' : outputFormat === 'jsonl';
  return isJsonl ? jsonl(layout, inPlace) : csv(layout, inPlace);
}

/** @throws CliError (exit code 2) when there are no columns that could be filled in */
export function refuseInPlace(
  { name, packing }: Pick<Input, 'name' | 'packing'>,
  { plan: { format, hasHeader } }: Layout,
): void {
  const isTable = (format === 'csv' || format === 'tsv') && hasHeader;
  if (packing !== undefined || (!isTable && format !== 'jsonl')) {
    throw inputError(
      `--in-place can't be used with ${name}: it needs a table with a header, or JSON Lines, as plain text`,
      'Without --in-place, the results go into a file of their own.',
    );
  }
}

/** @throws CliError (exit code 2) for a pipe or device, which can't be replaced, before it is read */
export async function refuseIrregularInPlace(file: string): Promise<void> {
  const stats = await stat(file).catch(() => undefined);
  if (stats === undefined || stats.isFile() || stats.isDirectory()) return;
  throw inputError(
    `--in-place can't be used with ${basename(file)}: it is no regular file`,
    'Without --in-place, the results go into a file of their own.',
  );
}

const BYTE_ORDER_MARK = '\ufeff';

/** As the input is written. Columns of earlier results are replaced where they stand; those that are missing come last. */
function csv(layout: Layout, inPlace: boolean): ResultsFormat {
  const { columns } = layout.plan;
  // Of JSON Lines, all keys are known by now.
  const resultColumns = findResultColumns(columns);
  const { delimiter, lineEnd, bom } = layout.dialect;
  const cell = cellWriter(delimiter);
  // Cells of the user's own file stay as they are. Only in another file, formulas are made harmless for spreadsheets.
  const ownCell = inPlace ? plainCellWriter(delimiter) : cell;
  let width = columns.length;
  const places = RESULT_COLUMNS.map((name) => resultColumns[name] ?? width++);
  const line = (
    cells: readonly string[],
    write: typeof cell,
    results: readonly string[],
    surplus: readonly string[] = [],
  ) => {
    const written: string[] = [];
    for (let index = 0; index < columns.length; index += 1) written.push(write(cells[index] ?? ''));
    places.forEach((place, index) => {
      written[place] = cell(results[index] ?? '');
    });
    for (const text of surplus) written.push(write(text));
    return written.join(delimiter) + lineEnd;
  };
  const isPlain = resultColumns.short_url === undefined;
  // What stands where the results go is too much as well: in a row that is too short to be one of ours, or with text that isn't.
  const hidden = (row: Row): readonly string[] => {
    const { cells } = row;
    // Where only the last cell is missing, it was the error.
    const isHidden = cells.length < columns.length - 1 || strayText(row, layout) !== undefined;
    return isHidden && !hasStatus(row, layout)
      ? cells.filter((_, index) => places.includes(index))
      : [];
  };
  return {
    header:
      (bom ? BYTE_ORDER_MARK : '') +
      (inPlace ? layout.preamble : '') +
      line(columns, ownCell, RESULT_COLUMNS),
    line: (row, outcome) => {
      if (outcome.status === 'rejected') {
        // Cells that are too many come last, as in the rejects file: without them, the row would be valid, with a URL that is cut.
        const { cells } = row;
        const surplus = [...hidden(row), ...cells.slice(columns.length)];
        return line(cells, ownCell, resultCells(outcome, inPlace), surplus);
      }
      const own = isPlain ? row.asCsv?.(columns.length, delimiter) : undefined;
      if (own === undefined) return line(row.cells, ownCell, resultCells(outcome));
      return outcome.status === 'created'
        ? `${own}${delimiter}${cell(outcome.code)}${delimiter}${cell(outcome.short_url)}${delimiter}created${delimiter}${lineEnd}`
        : `${own}${delimiter.repeat(3)}${outcome.status}${delimiter}${cell(outcome.error)}${lineEnd}`;
    },
  };
}

function resultCells(outcome: Outcome, inPlace = false): readonly string[] {
  const { code = '', short_url = '' } = linkOf(outcome, inPlace) ?? {};
  return [code, short_url, outcome.status, outcome.status === 'created' ? '' : outcome.error];
}

function linkOf(outcome: Outcome, inPlace: boolean): OwnLink | undefined {
  if (outcome.status === 'created') return outcome;
  return inPlace ? outcome.own : undefined;
}

/** Writes cells that a spreadsheet won't run as formulas. */
export function cellWriter(delimiter: string): (text: string) => string {
  return (text) => csvCell(text, delimiter);
}

/** Writes cells as they are, quoted where they must be. */
function plainCellWriter(delimiter: string): (text: string) => string {
  return (text) =>
    text.includes(delimiter) || /["\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** A result replaces a key of the input that has its name. */
function jsonl(layout: Layout, inPlace: boolean): ResultsFormat {
  const { columns } = layout.plan;
  const names = uniqueNames(columns);
  const places = new Set(Object.values(layout.resultColumns));
  const taken = new Set<string>(RESULT_COLUMNS);
  return {
    // What is read back must mean the same: the lines that are skipped, and that it is UTF-8 now.
    header: inPlace ? (layout.dialect.bom ? BYTE_ORDER_MARK : '') + layout.preamble : '',
    line: (row, outcome) => {
      const { object, cells, text } = row;
      // A line that is no object can't hold a result, and must not be lost.
      if (inPlace && text !== undefined) return `${text}\n`;
      // Nor one whose own keys have the names of results: it is rejected.
      if (inPlace && object && strayText(row, layout) !== undefined) {
        return `${JSON.stringify(object)}\n`;
      }
      const isCut = outcome.status === 'rejected' && cells.length > columns.length;
      const entries: Array<readonly [string, unknown]> = object
        ? Object.entries(object)
        : names.map((name, index) => [name, isCut ? '' : (cells[index] ?? '')] as const);
      // A row with more cells than columns keeps all of them in `cells`, and its columns empty: it would be valid otherwise, with a URL that is cut.
      if (isCut && object === undefined) entries.push(['cells', cells]);
      const link = linkOf(outcome, inPlace);
      return `${JSON.stringify({
        ...Object.fromEntries(
          entries.filter(([name], index) => !taken.has(name) && !places.has(index)),
        ),
        code: link?.code ?? null,
        short_url: link?.short_url ?? null,
        status: outcome.status,
        error: outcome.status === 'created' ? null : outcome.error,
      } satisfies Record<(typeof RESULT_COLUMNS)[number], string | null>)}\n`;
    },
  };
}

/** Columns of a table as keys of an object: the second `note` is `note_2`. */
function uniqueNames(columns: readonly string[]): readonly string[] {
  const names = new Set<string>();
  for (const column of columns) {
    let name = column;
    for (let number = 2; names.has(name); number += 1) name = `${column}_${number}`;
    names.add(name);
  }
  return [...names];
}

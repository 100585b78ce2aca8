import { readRows } from '@shortlink/tables';
import type { Row } from '@shortlink/tables/basics';
import { outcomeOf } from '../journal/batches.ts';
import type { Layout } from '../layout.ts';
import { linkIdentity, madeFor, readMadeFor } from '../map/link-identity.ts';
import {
  findResultColumns,
  hasStatus,
  type OwnLink,
  ownLink,
  RESULT_COLUMNS,
  strayText,
} from '../map/result-columns.ts';
import type { SendNewRows, Sent } from '../send/send-new-rows.ts';
import type { ImportSettings, LinkResult, RowStatus } from '../types.ts';
import { csvCell } from './csv-cell.ts';

/** What the results say of one row. */
export type RowOutcome =
  | ({ status: 'created' } & OwnLink)
  | {
      status: Exclude<RowStatus, 'created'>;
      error: string;
      /** What the link may have been created with, where it is unknown. */
      made_for?: string | undefined;
      /** The link that a row names though it is none of any row. In place it stays there until the row has one. */
      own?: OwnLink | undefined;
    };

export interface ReportInput extends SendNewRows, Pick<Sent, 'batches'> {
  /** Why rows were not sent. */
  whyUnsent: string;
  /** Called with the outcome of each row, numbered from 0. */
  onRow?: ((row: Row, number: number, outcome: RowOutcome) => void) | undefined;
}

/** Rows that one read completes, each with its outcome. */
export type Reported = readonly { row: Row; outcome: RowOutcome }[];

/** Reads the input once more. Each row has the outcome that the journal knows. */
export async function* reported(report: ReportInput): AsyncGenerator<Reported> {
  const { source, checked, found, evidence } = report;
  const matches = evidence.matches();
  const sent = sentOutcomes(report);
  const left: RowOutcome = { status: 'unsent', error: report.whyUnsent };
  const outcomeOf = (row: Row, number: number): RowOutcome => {
    const isRejected = checked.rejectedRows.has(number);
    // A line of JSON is not parsed where no row names its link.
    const own = isRejected || checked.claims > 0 ? ownLink(row, source.layout) : undefined;
    if (isRejected) {
      return { status: 'rejected', error: source.rules.check(row).problem ?? '', own };
    }
    if (own !== undefined && !found.disowned.has(number)) {
      const isRead = readMadeFor(own.made_for) !== null;
      const made_for = isRead ? own.made_for : madeForRow(row, report);
      return { status: 'created', ...own, made_for };
    }
    const outcome = (found.matched.has(number) ? matches(number) : sent.next().value) ?? left;
    const isKept = outcome.status !== 'created' && !found.copied.has(number);
    return isKept ? { ...outcome, own } : outcome;
  };
  let number = 0;
  for await (const rows of readRows(source.input, source.layout)) {
    yield rows.map((row) => {
      const outcome = outcomeOf(row, number);
      report.onRow?.(row, number, outcome);
      number += 1;
      return { row, outcome };
    });
  }
}

/** Earlier releases have not written what the link was created with: it counts as that of the row as it stands. */
function madeForRow(row: Row, { source, settings }: ReportInput): string {
  return madeFor(linkIdentity(source.rules.link(row), settings.defaults.domain_id));
}

/** The outcomes of the new rows, one after the other; undefined for those that were not sent. */
function* sentOutcomes({
  journal,
  batches,
}: ReportInput): Generator<(LinkResult & { made_for: string }) | undefined> {
  let position = 0;
  for (const batch of batches) {
    for (; position < batch.first; position += 1) yield undefined;
    for (const link of journal.eachLink(journal.batch(batch.id))) yield outcomeOf(link);
    position += batch.count;
  }
}

/** Makes the lines of the results file: the input's own columns, then the outcome of the row. */
interface ResultsFormat {
  /** What comes before the first row. */
  header: string;
  line(row: Row, outcome: RowOutcome): string;
}

/** The results as text: a table, or JSON Lines. */
export async function* resultsText(
  reported: AsyncIterable<Reported>,
  layout: Layout,
  { outputFormat, inPlace }: Pick<ImportSettings, 'outputFormat' | 'inPlace'>,
): AsyncGenerator<string> {
  const isJsonl = inPlace ? layout.plan.format === 'jsonl' : outputFormat === 'jsonl';
  const { header, line } = isJsonl ? jsonl(layout, inPlace) : csv(layout, inPlace);
  yield header;
  for await (const rows of reported) {
    let text = '';
    for (const { row, outcome } of rows) text += line(row, outcome);
    yield text;
  }
}

const BYTE_ORDER_MARK = '\ufeff';

/** A row of results in cells: those of the input, then those that are too many, and where the results stand. */
interface ResultsRow {
  own: readonly string[];
  surplus: readonly string[];
  results: readonly string[];
}

/** The table of results: columns of earlier results are replaced where they stand; those that are missing come last. */
export function resultsTable(layout: Layout, inPlace = false) {
  const { columns } = layout.plan;
  // Of JSON Lines, all keys are known by now.
  const isJsonl = layout.plan.format === 'jsonl';
  const resultColumns = isJsonl ? findResultColumns(columns) : layout.resultColumns;
  let width = columns.length;
  const places = RESULT_COLUMNS.map((name) => resultColumns[name] ?? width++);
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
    header: { own: columns, surplus: [], results: RESULT_COLUMNS } satisfies ResultsRow,
    /** Whether the input has no column of results. */
    isPlain: resultColumns.short_url === undefined,
    rowOf(row: Row, outcome: RowOutcome): ResultsRow {
      const results = resultCells(outcome, inPlace);
      if (outcome.status !== 'rejected') return { own: row.cells, surplus: [], results };
      // Cells that are too many come last, as in the rejects file: without them, the row would be valid, with a URL that is cut.
      const surplus = [...hidden(row), ...row.cells.slice(columns.length)];
      return { own: row.cells, surplus, results };
    },
    /** The cells in the order of the columns, each as its function writes it. */
    fill<Cell>(
      { own, surplus, results }: ResultsRow,
      writeOwn: (text: string, index: number) => Cell,
      writeResult: (text: string) => Cell,
    ): Cell[] {
      const written = columns.map((_, index) => writeOwn(own[index] ?? '', index));
      places.forEach((place, index) => {
        written[place] = writeResult(results[index] ?? '');
      });
      for (const text of surplus) written.push(writeOwn(text, written.length));
      return written;
    },
  };
}

/** As the input is written. */
function csv(layout: Layout, inPlace: boolean): ResultsFormat {
  const { columns } = layout.plan;
  const { delimiter, lineEnd, bom, sep } = layout.dialect;
  const cell = (text: string) => csvCell(text, delimiter);
  // Cells of the user's own file stay as they are. Only in another file, formulas are made harmless for spreadsheets.
  const ownCell = inPlace ? plainCellWriter(delimiter) : cell;
  const { header, isPlain, rowOf, fill } = resultsTable(layout, inPlace);
  const line = (row: ResultsRow) => fill(row, ownCell, cell).join(delimiter) + lineEnd;
  const ownCells = (cells: readonly string[]) => {
    let text = ownCell(cells[0] ?? '');
    for (let at = 1; at < columns.length; at += 1) text += delimiter + ownCell(cells[at] ?? '');
    return text;
  };
  return {
    header: (bom ? BYTE_ORDER_MARK : '') + (inPlace ? layout.preamble : sep) + line(header),
    line: (row, outcome) => {
      if (!isPlain || outcome.status === 'rejected') return line(rowOf(row, outcome));
      const own = row.asCsv?.(columns.length, delimiter) ?? ownCells(row.cells);
      return outcome.status === 'created'
        ? `${own}${delimiter}${cell(outcome.code)}${delimiter}${cell(outcome.short_url)}${delimiter}created${delimiter}${delimiter}${outcome.made_for}${lineEnd}`
        : own + delimiter + resultCells(outcome).map(cell).join(delimiter) + lineEnd;
    },
  };
}

function resultCells(outcome: RowOutcome, inPlace = false): readonly string[] {
  const { code = '', short_url = '' } = linkOf(outcome, inPlace) ?? {};
  const error = outcome.status === 'created' ? '' : outcome.error;
  return [code, short_url, outcome.status, error, madeForOf(outcome, inPlace)];
}

function linkOf(outcome: RowOutcome, inPlace: boolean): OwnLink | undefined {
  if (outcome.status === 'created') return outcome;
  // Beside a link that may exist for the row, another one would be taken for it.
  return inPlace && outcome.status !== 'unknown' ? outcome.own : undefined;
}

function madeForOf(outcome: RowOutcome, inPlace: boolean): string {
  const isOfLink = outcome.status === 'created' || outcome.status === 'unknown';
  return (isOfLink ? outcome.made_for : linkOf(outcome, inPlace)?.made_for) ?? '';
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
      const { object, text } = row;
      const cells = object === undefined ? row.cells : [];
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
        made_for: madeForOf(outcome, inPlace) || null,
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

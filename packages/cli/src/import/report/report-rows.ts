import { readRows } from '@shortlink/tables';
import { csvCell, quoted, type Row } from '@shortlink/tables/basics';
import type { Layout } from '../layout.ts';
import { linkIdentity, madeFor, readMadeFor } from '../map/link-identity.ts';
import {
  findResultColumns,
  hasStatus,
  type OwnLink,
  ownLink,
  RESULT_COLUMNS,
  type ResultColumn,
  strayText,
} from '../map/result-columns.ts';
import type { SendNewRows, Sent } from '../send/send-new-rows.ts';
import type { ImportSettings, MadeResult, RowStatus } from '../types.ts';

/** What the results say of one row. */
export type RowOutcome =
  | ({ status: 'created' } & OwnLink)
  | {
      status: Exclude<RowStatus, 'created'>;
      error: string;
      made_for?: string | undefined;
      /** The link that a row names though it is none of any row. In place it stays there until the row has one. */
      own?: OwnLink | undefined;
    };

export interface ReportInput extends SendNewRows, Pick<Sent, 'batches'> {
  whyUnsent: string;
  /** Called with the outcome of each row, numbered from 0. */
  onRow?: ((row: Row, number: number, outcome: RowOutcome) => void) | undefined;
}

/** Rows that one read completes. */
export type Reported = readonly { row: Row; outcome: RowOutcome }[];

/** Reads the input once more. */
export async function* reported(report: ReportInput): AsyncGenerator<Reported> {
  const { source, checked, found, evidence, settings } = report;
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
    const isMatched = found.matched.has(number);
    if (own !== undefined && !isMatched && !found.disowned.has(number)) {
      if (readMadeFor(own.made_for) !== null) return { status: 'created', ...own };
      // Earlier releases have not written what a link was created with: it counts as that of the row.
      const identity = linkIdentity(source.rules.link(row), settings.defaults.domain_id);
      return { status: 'created', ...own, made_for: madeFor(identity) };
    }
    const outcome = (isMatched ? matches(number) : sent.next().value) ?? left;
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

/** The outcomes of the new rows, one after the other; undefined for those that were not sent. */
function* sentOutcomes({ journal, batches }: ReportInput): Generator<MadeResult | undefined> {
  let position = 0;
  for (const batch of batches) {
    for (; position < batch.first; position += 1) yield undefined;
    yield* journal.outcomesOf(journal.batch(batch.id));
    position += batch.count;
  }
}

/** The results as text: a table, or JSON Lines. */
export async function* resultsText(
  reported: AsyncIterable<Reported>,
  layout: Layout,
  { outputFormat, inPlace }: ImportSettings,
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
  // All keys of JSON Lines are known by now.
  const isJsonl = layout.plan.format === 'jsonl';
  const resultColumns = isJsonl ? findResultColumns(columns) : layout.resultColumns;
  let width = columns.length;
  const places = RESULT_COLUMNS.map((name) => resultColumns[name] ?? width++);
  // What stands where the results go is too much in a row that is too short to be one of ours, or with text that isn't.
  const hidden = (row: Row): readonly string[] => {
    const { cells } = row;
    // Where only the last cell is missing, it was the error.
    const isHidden = cells.length < columns.length - 1 || strayText(row, layout) !== undefined;
    if (!isHidden || hasStatus(row, layout)) return [];
    return cells.filter((_, index) => places.includes(index));
  };
  return {
    header: { own: columns, surplus: [], results: RESULT_COLUMNS } satisfies ResultsRow,
    isPlain: resultColumns.short_url === undefined,
    rowOf(row: Row, outcome: RowOutcome): ResultsRow {
      const results = cellsOf(outcome, inPlace);
      if (outcome.status !== 'rejected') return { own: row.cells, surplus: [], results };
      // Without the cells that are too many, the row would be valid, with a URL that is cut.
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

function csv(layout: Layout, inPlace: boolean) {
  const { columns } = layout.plan;
  const { delimiter, lineEnd, bom, sep } = layout.dialect;
  const cell = (text: string) => csvCell(text, delimiter);
  // In the user's own file, cells stay as they are: only in another one, formulas are made harmless.
  const ownCell = inPlace ? (text: string) => quoted(text, delimiter) : cell;
  const { header, isPlain, rowOf, fill } = resultsTable(layout, inPlace);
  const line = (row: ResultsRow) => fill(row, ownCell, cell).join(delimiter) + lineEnd;
  const ownCells = (cells: readonly string[]) => {
    let text = ownCell(cells[0] ?? '');
    for (let at = 1; at < columns.length; at += 1) text += delimiter + ownCell(cells[at] ?? '');
    return text;
  };
  return {
    header: (bom ? BYTE_ORDER_MARK : '') + (inPlace ? layout.preamble : sep) + line(header),
    line: (row: Row, outcome: RowOutcome) => {
      if (!isPlain || outcome.status === 'rejected') return line(rowOf(row, outcome));
      const own = row.asCsv?.(columns.length, delimiter) ?? ownCells(row.cells);
      return outcome.status === 'created'
        ? `${own}${delimiter}${cell(outcome.code)}${delimiter}${cell(outcome.short_url)}${delimiter}created${delimiter}${delimiter}${outcome.made_for}${lineEnd}`
        : own + delimiter + cellsOf(outcome).map(cell).join(delimiter) + lineEnd;
    },
  };
}

function cellsOf(outcome: RowOutcome, inPlace = false): readonly string[] {
  const results = resultsOf(outcome, inPlace);
  return RESULT_COLUMNS.map((column) => results[column] ?? '');
}

function resultsOf(outcome: RowOutcome, inPlace: boolean): Record<ResultColumn, string | null> {
  const { status } = outcome;
  // Beside a link that may exist for the row, another one would be taken for it.
  const own = outcome.status !== 'created' && inPlace ? outcome.own : undefined;
  const link = outcome.status === 'created' ? outcome : status === 'unknown' ? undefined : own;
  const made = outcome.status === 'unknown' ? outcome.made_for : link?.made_for;
  const error = outcome.status === 'created' ? null : outcome.error;
  const { code = null, short_url = null } = link ?? {};
  return { code, short_url, status, error, made_for: made || null };
}

/** A result replaces a key of the input that has its name. */
function jsonl(layout: Layout, inPlace: boolean) {
  const { columns } = layout.plan;
  const places = new Set<number>(Object.values(layout.resultColumns));
  const names = uniqueNames(columns, places);
  const end = inPlace ? layout.dialect.lineEnd : '\n';
  const taken = new Set<string>(RESULT_COLUMNS);
  return {
    // What is read back must mean the same.
    header: inPlace ? (layout.dialect.bom ? BYTE_ORDER_MARK : '') + layout.preamble : '',
    line: (row: Row, outcome: RowOutcome) => {
      const { object, text } = row;
      const cells = object === undefined ? row.cells : [];
      // A line that is no object can't hold a result, and must not be lost.
      if (inPlace && text !== undefined) return text + end;
      // Nor must one be lost whose own keys have the names of results: it is rejected.
      if (inPlace && object && strayText(row, layout) !== undefined) {
        return JSON.stringify(object) + end;
      }
      const isCut = outcome.status === 'rejected' && cells.length > columns.length;
      const entries: Array<readonly [string, unknown]> = object
        ? Object.entries(object)
        : names.map((name, index) => [name, isCut ? '' : (cells[index] ?? '')] as const);
      // A row with more cells than columns keeps all of them in `cells`: otherwise it would be valid, with a URL that is cut.
      if (isCut && object === undefined) entries.push(['cells', cells]);
      const others = entries.filter(([name], at) => !taken.has(name) && !places.has(at));
      const results = resultsOf(outcome, inPlace);
      return JSON.stringify({ ...Object.fromEntries(others), ...results }) + end;
    },
  };
}

/** Columns of a table as keys of an object: the second `note` is `note_2`, and a `status` that is no result `status_2`. */
function uniqueNames(columns: readonly string[], places: ReadonlySet<number>): readonly string[] {
  const names = new Set<string>(RESULT_COLUMNS);
  return columns.map((column, at) => {
    if (places.has(at)) return column;
    let name = column;
    for (let number = 2; names.has(name); number += 1) name = `${column}_${number}`;
    names.add(name);
    return name;
  });
}

import { numberText } from '@shortlink/tables';
import type { Row } from '@shortlink/tables/basics';
import { writeXlsxStream } from 'hucre/xlsx';
import type { Layout } from '../layout.ts';
import { type Reported, resultsTable } from './report-rows.ts';

type SheetCell = string | number | boolean | null;

/** What a cell can hold: Excel takes a file with a longer one for damaged. */
const MAX_CHARACTERS = 32_767;

/** A name of a sheet that Excel takes. Other programs write longer ones, and more characters. */
const SHEET_NAME = /^(?!'|history$)[^[\]:*?/\\]{1,31}(?<!')$/i;

/** The widths of columns, in digits. */
const URL_WIDTH = 50;
const WIDTH = 18;

/** The results as a workbook with one sheet. What the input's own sheet holds stays what it is. */
export async function* resultsWorkbook(
  reported: AsyncIterable<Reported>,
  layout: Layout,
): AsyncGenerator<Uint8Array> {
  const { columns, mapping, sheet } = layout.plan;
  const table = resultsTable(layout);
  const source = reported[Symbol.asyncIterator]();
  const first = await source.next();
  const formats = formatsOf(first.done ? [] : first.value);
  async function* rows() {
    yield table.fill<SheetCell>(table.header, textCell, textCell);
    for (let read = first; !read.done; read = await source.next()) {
      for (const { row, outcome } of read.value) {
        yield table.fill<SheetCell>(
          table.rowOf(row, outcome),
          (text, index) => ownCell(text, row, index, formats.get(index)),
          textCell,
        );
      }
    }
  }
  const widths = table.fill(
    table.header,
    (_, index) => (index === mapping.target_url ? URL_WIDTH : WIDTH),
    (name) => (name === 'short_url' || name === 'error' ? URL_WIDTH : WIDTH),
  );
  try {
    yield* writeXlsxStream(rows(), {
      name: sheet?.name.match(SHEET_NAME)?.[0] ?? 'Links',
      columns: widths.map((width, index) => {
        const numFmt = index < columns.length ? formats.get(index) : undefined;
        return numFmt === undefined ? { width } : { width, numFmt };
      }),
      freezePane: { rows: 1 },
    });
  } finally {
    // The input would stay open where the workbook is left before its end.
    await source.return?.();
  }
}

/** The format of each column, which is that of its first number. */
function formatsOf(rows: Reported): ReadonlyMap<number, string> {
  const formats = new Map<number, string>();
  for (const { row } of rows) {
    for (const [index, { format }] of Object.entries(row.book ?? {})) {
      if (format !== undefined && !formats.has(Number(index))) formats.set(Number(index), format);
    }
  }
  return formats;
}

/**
 * A cell as the input's sheet holds it; a linked one is its target, since the results are imported again. A number that its column would show
 * as something else, such as a count between dates, is the text that a person sees.
 */
function ownCell(text: string, { book }: Row, index: number, format = ''): SheetCell {
  const { type, value = '' } = book?.[index] ?? {};
  if (type === 'b') return value === '1';
  const isNumber = type === 'n' && Number.isFinite(Number(value));
  return isNumber && numberText(value, format) === text ? Number(value) : textCell(text);
}

/** What looks like the mark of a character that XML can't hold is marked itself. */
function textCell(text: string): SheetCell {
  if (text === '') return null;
  return text.slice(0, MAX_CHARACTERS).replaceAll(/_(?=x[\dA-F]{4}_)/gi, '_x005F_');
}

import CliTable from 'cli-table3';
import { terminalSafe } from './output.ts';

// Loaded only where something is drawn: a server that starts would spend a tenth of that on measuring texts.

type Row = Readonly<Record<string, unknown>>;

/** Width that a cut text keeps in any case: that of an id, so that ids stay whole. */
const MIN_CUT_WIDTH = 16;

const GAP = '  ';

/** No borders: columns are apart by spaces only. */
const PLAIN = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid']
    .flatMap((at) => [at, `${at}-mid`, `${at}-left`, `${at}-right`])
    .map((name) => [name, '']),
);

/** A table in at most `width` columns: the widest texts are cut, but no lists. Where that is not enough, one record after the other. */
export function formatTable(rows: readonly Row[], width = Number.POSITIVE_INFINITY): string[] {
  const [first] = rows;
  if (first === undefined) return ['(none)'];
  const lines = [Object.keys(first), ...rows.map((row) => Object.values(row).map(cell))];
  const widths: number[] = [];
  const whole = draw(lines, widths);
  let excess = widths.reduce((sum, column) => sum + column + GAP.length, -GAP.length - width);
  if (excess <= 0) return whole;
  const isList = Object.values(first).map((value) => value instanceof Object);
  for (; excess > 0; excess -= 1) {
    const widest = Math.max(...widths.filter((_, at) => !isList[at]));
    if (widest <= MIN_CUT_WIDTH) return rows.flatMap((row) => [...formatRecord(row), '']);
    widths[widths.findIndex((one, at) => one === widest && !isList[at])] = widest - 1;
  }
  return draw(lines, widths);
}

/** One object, one field per line, however long: a key that was cut would be lost. */
export function formatRecord(record: Row): string[] {
  const fields = Object.entries(record).filter(([, value]) => value !== undefined);
  return draw(fields.map(([name, value]) => [name, cell(value)]));
}

/** @param colWidths - Gains the width of each column that it has none of. */
function draw(lines: string[][], colWidths: number[] = []): string[] {
  const style = { head: [], border: [], compact: true, 'padding-left': 0, 'padding-right': 0 };
  const table = new CliTable({ chars: { ...PLAIN, middle: GAP }, style, colWidths });
  table.push(...lines);
  return table
    .toString()
    .split('\n')
    .map((line) => line.trimEnd());
}

function cell(value: unknown): string {
  if (value === undefined || value === null) return '-';
  if (Array.isArray(value)) return value.map(cell).join(', ');
  if (typeof value === 'object') {
    return Object.entries(value)
      .map(([name, inner]) => `${name}=${inner === null ? 'unlimited' : cell(inner)}`)
      .join(' ');
  }
  return terminalSafe(String(value));
}

import stringWidth from 'string-width';
import { terminalSafe } from './output.ts';

// Loaded only where something is drawn: a server that starts would spend a tenth of that on measuring texts.

/** One line of a table or one record, by the names of its columns. */
export type Row = Readonly<Record<string, unknown>>;

/** A table and what a terminal that is too narrow for it does without. */
export interface Table {
  rows: readonly Row[];
  /** Columns that are left out, the least important first. @default none */
  optional?: readonly string[];
  /** Columns whose texts are cut. They keep this width as long as another column can be left out. @default none */
  flexible?: Readonly<Record<string, number>>;
}

/** Width that a cut text keeps in any case. */
const MIN_CELL_WIDTH = 8;

const GAP = '  ';

/** A table in at most `width` columns; all of it where there is no such limit. */
export function formatTable(table: Table, width = Number.POSITIVE_INFINITY): string[] {
  const { flexible = {} } = table;
  const [first] = table.rows;
  if (first === undefined) return ['(none)'];
  let columns = Object.keys(first).map((name) => {
    const cells = [name, ...table.rows.map((row) => cell(row[name]))];
    const longest = Math.max(...cells.map((text) => stringWidth(text)));
    const least = Math.min(longest, flexible[name] ?? longest);
    return { name, cells, width: longest, least };
  });
  const excess = (kind: 'width' | 'least') =>
    columns.reduce((sum, column) => sum + column[kind] + GAP.length, -GAP.length) - width;
  for (const name of table.optional ?? []) {
    if (excess('least') <= 0) break;
    columns = columns.filter((column) => column.name !== name);
  }
  for (let more = excess('width'); more > 0; more = excess('width')) {
    const [widest] = columns
      .filter(({ name, width }) => name in flexible && width > MIN_CELL_WIDTH)
      .sort((a, b) => b.width - a.width);
    if (widest === undefined) break;
    widest.width -= 1;
  }
  return [first, ...table.rows].map((_, line) =>
    columns
      .map((column) => fit(column.cells[line] ?? '', column.width))
      .join(GAP)
      .trimEnd(),
  );
}

/** Words in lines of at most `width` columns; lines after the first begin with `indent` spaces. */
export function wrapWords(text: string, width = Number.POSITIVE_INFINITY, indent = 0): string {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(/(?<=\S) /)) {
    const longer = line === '' ? word : `${line} ${word}`;
    if (line !== '' && stringWidth(longer) > width) {
      lines.push(line);
      line = ' '.repeat(indent) + word;
    } else line = longer;
  }
  return [...lines, line].join('\n');
}

/** One object, one field per line. */
export function formatRecord(record: Row, width?: number): string[] {
  const fields = Object.entries(record).filter(([, value]) => value !== undefined);
  const names = Math.max(...fields.map(([name]) => name.length));
  return fields.map(([name, value]) =>
    wrapWords(`${name.padEnd(names)}  ${cell(value)}`, width, names + GAP.length),
  );
}

/** At most `width` columns of a text, and spaces up to there. */
function fit(text: string, width: number): string {
  let shown = text;
  if (stringWidth(text) > width) {
    const characters = [...text];
    while (stringWidth(characters.join('')) > width - 1) characters.pop();
    shown = `${characters.join('')}…`;
  }
  return shown + ' '.repeat(Math.max(0, width - stringWidth(shown)));
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

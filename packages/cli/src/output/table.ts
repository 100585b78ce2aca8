import { sanitize } from './sanitize.ts';
import type { Paint, Style } from './style.ts';

export type Cell = string | { text: string; paint: Paint };

interface TableOptions {
  head?: readonly string[] | undefined;
  rows: readonly (readonly Cell[])[];
  /** Columns that line up at the right. */
  right?: readonly number[] | undefined;
  style: Style;
}

/** No borders, so that programs can read it too. */
const PLAIN = Object.fromEntries(
  ['top', 'bottom', 'left', 'right', 'mid']
    .flatMap((at) => [at, `${at}-mid`, `${at}-left`, `${at}-right`])
    .map((name) => [name, '']),
);

/** A table with borders on a terminal, as aligned lines elsewhere. cli-table3 passes escape bytes on: clean texts first. */
export async function renderTable({ head, rows, right, style }: TableOptions): Promise<string> {
  const { boxes, bold } = style;
  const { default: Table } = await import('cli-table3');
  const columns = head?.length ?? rows[0]?.length ?? 0;
  const table = new Table({
    style: {
      head: [],
      border: [],
      compact: true,
      ...(!boxes && { 'padding-left': 0, 'padding-right': 0 }),
    },
    ...(!boxes && { chars: { ...PLAIN, middle: '  ' } }),
    colAligns: Array.from({ length: columns }, (_, at) => (right?.includes(at) ? 'right' : 'left')),
    ...(head !== undefined && { head: head.map((text) => bold(sanitize(text))) }),
  });
  table.push(...rows.map((row) => row.map(renderCell)));
  const text = table.toString();
  return boxes ? text : text.replaceAll(/ +$/gm, '');
}

function renderCell(cell: Cell): string {
  return typeof cell === 'string' ? sanitize(cell) : cell.paint(sanitize(cell.text));
}

import { foreign, sanitize } from './sanitize.ts';
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
  const clean = boxes ? foreign : sanitize;
  const render = (cell: Cell) =>
    typeof cell === 'string' ? clean(cell) : cell.paint(clean(cell.text));
  table.push(...rows.map((row) => row.map(render)));
  const text = table.toString();
  return boxes ? text : text.replaceAll(/ +$/gm, '');
}

import { looksLikeUrl } from './cells.ts';
import { ALIASES, columnKey } from './map-columns.ts';
import type { Row } from './types.ts';

/** Rows in which the header is looked for. */
const MAX_TITLE_ROWS = 20;

/**
 * Where the header stands in the first rows of a table: below a title, it is the row that names the column of targets, with a URL under
 * that name and none above it. 0 where the first row is the header, or nothing tells.
 *
 * @param wanted - `--map target_url`
 */
export function headerIndex(rows: readonly Pick<Row, 'cells'>[], wanted?: string): number {
  const isNamed = wanted !== undefined && !/^\d*$/.test(wanted);
  const keys = isNamed ? [columnKey(wanted)] : ALIASES.target_url;
  for (const [index, { cells }] of rows.slice(0, MAX_TITLE_ROWS).entries()) {
    if (cells.some(looksLikeUrl)) return 0;
    const column = cells.findIndex((cell) => keys.includes(columnKey(cell)));
    if (column === -1) continue;
    const isFilled = rows.slice(index + 1).some((row) => looksLikeUrl(row.cells[column]));
    if (index === 0 || isFilled) return index;
  }
  return 0;
}

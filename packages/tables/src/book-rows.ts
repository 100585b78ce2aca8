import { looksLikeUrl } from './cells.ts';
import { type Line, lazyRows, type Parsed } from './lines.ts';
import type { BookCell, Plan, Row } from './types.ts';

type Mapped = Partial<Pick<Plan, 'columns' | 'mapping'>>;

/** The rows of a spreadsheet, each of which was unpacked to a line that begins with its number. */
export function bookRows(plan: Mapped): (line: Line) => Row {
  const toRow = lazyRows(({ text }) => parseSheetRow(text, plan));
  return ({ text }) => toRow({ line: Number.parseInt(text.slice(1), 10), text });
}

/** A linked cell counts as its link where the target stands, unless it shows a URL itself; without a mapping, everywhere. */
function parseSheetRow(text: string, { columns, mapping }: Mapped): Parsed {
  const [, cells, book, isSum]: [number, string[], Record<number, BookCell>, boolean] =
    JSON.parse(text);
  for (const [at, cell] of Object.entries(book)) {
    const shows = cells[Number(at)] ?? '';
    const isTarget = mapping === undefined || mapping.target_url === Number(at);
    if (cell.link === undefined || !isTarget || looksLikeUrl(shows)) continue;
    cell.text = shows;
    cells[Number(at)] = cell.link;
  }
  // Cells that are empty at the end of a row are not stored.
  while (cells.length < (columns?.length ?? 0)) cells.push('');
  return { cells, book, isSum };
}

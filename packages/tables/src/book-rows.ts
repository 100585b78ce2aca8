import { looksLikeUrl } from './cells.ts';
import type { Line } from './lines.ts';
import type { BookCell, Plan, Row } from './types.ts';

type Mapped = Partial<Pick<Plan, 'columns' | 'mapping'>>;

/** The rows of a spreadsheet. Only what the last one holds is kept, which is asked for several times in a row. */
export function bookRows(plan: Mapped): (line: Line) => Row {
  let last: { text: string; row: Row } | undefined;
  const parse = (text: string) => {
    if (last?.text !== text) last = { text, row: parseSheetRow(text, plan) };
    return last.row;
  };
  return ({ text }) => new BookRow(text, parse);
}

/** A row of a spreadsheet that is parsed when it is asked for: tens of thousands of rows wait at once for their outcome, as text. */
class BookRow implements Row {
  readonly #text: string;
  readonly #parse: (text: string) => Row;

  constructor(text: string, parse: (text: string) => Row) {
    this.#text = text;
    this.#parse = parse;
  }

  get line(): number {
    return this.#parse(this.#text).line;
  }

  get cells(): readonly string[] {
    return this.#parse(this.#text).cells;
  }

  get book(): Row['book'] {
    return this.#parse(this.#text).book;
  }

  get isSum(): boolean | undefined {
    return this.#parse(this.#text).isSum;
  }
}

/** A linked cell counts as its link where the target stands, unless it shows a URL itself; without a mapping, everywhere. */
function parseSheetRow(text: string, { columns, mapping }: Mapped): Row {
  const [line, cells, book, isSum]: [number, string[], Record<number, BookCell>, boolean] =
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
  return { line, cells, book, isSum };
}

import type { Layout } from './detect.ts';
import type { Row } from './types.ts';

/** Columns that say what became of a row, in the order in which they are written. */
export const RESULT_COLUMNS = ['code', 'short_url', 'status', 'error'] as const;

/** The link that a row of a results file names, which exists whatever else is known. */
export interface OwnLink {
  code: string;
  short_url: string;
}

/**
 * Where the result columns of an earlier import stand. Without `short_url` it is no results file, and its `status` is somebody else's.
 */
export function withResultColumns(layout: Layout): Layout {
  const { columns, hasHeader } = layout.plan;
  if (layout.resultColumns !== undefined || !hasHeader || !columns.includes('short_url')) {
    return layout;
  }
  const found = RESULT_COLUMNS.flatMap((name) => {
    const index = columns.lastIndexOf(name);
    return index === -1 ? [] : [[name, index] as const];
  });
  return { ...layout, resultColumns: Object.fromEntries(found) };
}

/** The link that the row itself names. */
export function ownLink(row: Row, { resultColumns }: Layout): OwnLink | undefined {
  if (resultColumns?.short_url === undefined) return undefined;
  const short_url = row.cells[resultColumns.short_url]?.trim() ?? '';
  if (short_url === '') return undefined;
  const code = resultColumns.code === undefined ? '' : row.cells[resultColumns.code]?.trim();
  return { code: code || short_url.slice(short_url.lastIndexOf('/') + 1), short_url };
}

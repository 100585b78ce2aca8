import { looksLikeUrl, trimmed } from './cells.ts';
import { isOneUrl, sampleRows } from './detect-format.ts';
import { inputError } from './errors.ts';
import { type Head, readHead, type Source } from './head.ts';
import { type Columns, mapColumns } from './map-columns.ts';
import { openQuoteHint } from './read-csv.ts';
import { createReader, URL_LIST_COLUMN } from './read-rows.ts';
import type { Plan, Row, TableOptions } from './types.ts';

/** How to read a table: the plan, and what only the reader and a writer of the same table need. */
export interface TableLayout
  extends Pick<Head, 'dialect' | 'preamble' | 'firstLine' | 'sheetRows'> {
  plan: Plan;
  /** The first rows of data. */
  samples: readonly Row[];
}

/**
 * Looks at the beginning of the input and settles format, delimiter, header and mapping.
 * @throws InputError when the input can't be read as it is, or a setting doesn't fit it
 */
export async function detectTable(input: Source, settings: TableOptions): Promise<TableLayout> {
  const head = await readHead(input, settings);
  const { format, encoding, delimiter, sheet, dialect, preamble, firstLine, sheetRows } = head;
  const found = findColumns(input.name, head, settings.map.target_url);
  const { columns, hasHeader, samples } = found;
  const notes = [...head.notes, ...found.notes];
  const added = hasHeader ? Object.values(settings.added?.find(columns, samples) ?? {}) : [];
  const mapping = mapColumns({ ...settings, ...found, name: input.name, added, notes });
  const firstUrl = trimmed(samples[0]?.cells[mapping.target_url ?? 0] ?? '') || undefined;
  const plan: Plan = {
    ...{ format, encoding, delimiter, sheet, columns, hasHeader, mapping, firstUrl, notes },
  };
  return { plan, dialect, preamble, firstLine, sheetRows, samples };
}

function findColumns(name: string, head: Head, wanted: string | undefined): Columns {
  const { format, text, isWhole, firstLine, hasHeader } = head;
  const columns: string[] = [];
  const reader = createReader(name, { ...head, columns }, firstLine);
  if (format === 'jsonl') {
    const samples = reader.push(text);
    if (isWhole) samples.push(...reader.end());
    // Looking into a row adds its keys to the columns.
    for (const row of samples) void row.cells;
    const [first] = samples;
    if (first !== undefined && columns.length === 0) {
      throw inputError(
        `${name} is not JSON Lines: line ${first.line} is ${first.problem ?? 'an object without keys'}`,
        'Write one object a line, for example with: jq -c .',
      );
    }
    return { columns, hasHeader: true, samples, notes: [] };
  }
  const { rows, problem } = sampleRows(text, reader, isWhole);
  const [first, ...rest] = rows;
  if (first === undefined) throw problem?.error ?? noRow(name, head);
  if (format === 'urls') {
    const list = { hasHeader, urlColumn: 0 };
    if (!hasHeader) return { ...list, columns: [URL_LIST_COLUMN], samples: rows, notes: [] };
    const note =
      'Each line below the first is taken for one URL, though some hold a delimiter. If it is a table: --input-format csv';
    return { ...list, columns: [first.cells[0] ?? ''], samples: rest, notes: [note] };
  }
  const found = first.cells.findIndex(looksLikeUrl);
  if (found !== -1) return withoutHeader(head, rows, found, wanted);
  const names = first.cells.map((column) => column.trim());
  return { columns: names, hasHeader: true, samples: rest, notes: [] };
}

/** A first row that holds a URL is no header: the URL's column gets the field's name, the others their number. */
function withoutHeader(
  { delimiter }: Head,
  rows: readonly Row[],
  found: number,
  wanted = '',
): Columns {
  const first = rows[0]?.cells ?? [];
  const number = /^\d+$/.test(wanted) ? Number(wanted) : 0;
  const urlColumn = number >= 1 && number <= first.length ? number - 1 : found;
  const columns = first.map((_, index) =>
    index === urlColumn ? URL_LIST_COLUMN : `column_${index + 1}`,
  );
  const mayBeCut =
    delimiter !== undefined &&
    first.length > 1 &&
    rows.every(({ cells }) => isOneUrl(cells.join(delimiter)));
  const note = `Each line is cut at ${JSON.stringify(delimiter)}, although it could be one URL. If it is one: --input-format urls`;
  return { columns, hasHeader: false, urlColumn, samples: rows, notes: mayBeCut ? [note] : [] };
}

function noRow(name: string, { isWhole, firstLine, text }: Head) {
  return isWhole
    ? inputError(`${name} has no rows: all of its cells are empty`)
    : inputError(
        `${name}, line ${firstLine}: the row that begins here has no end in sight`,
        openQuoteHint(text),
      );
}

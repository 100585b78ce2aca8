import { looksLikeUrl, trimmed } from './cells.ts';
import { isOneUrl, sampleRows } from './detect-format.ts';
import { inputError } from './errors.ts';
import { type Head, readHead, type Source } from './head.ts';
import { mapColumns } from './map-columns.ts';
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
 *
 * @throws InputError when the input can't be read as it is, or a setting doesn't fit it
 */
export async function detectTable(input: Source, settings: TableOptions): Promise<TableLayout> {
  const head = await readHead(input, settings);
  const { format, encoding, delimiter, sheet, dialect, preamble, firstLine, sheetRows } = head;
  const found = findColumns(input.name, head, settings.map.target_url);
  const { columns, hasHeader, urlColumn, samples } = found;
  const notes = [...(head.notes ?? []), ...found.notes];
  const mapping = mapColumns({
    name: input.name,
    columns,
    map: settings.map,
    isMapOptional: settings.isMapOptional === true,
    needsTarget: settings.needsTarget !== false,
    added: hasHeader ? Object.values(settings.added?.find(columns, samples) ?? {}) : [],
    ...{ urlColumn, samples, notes },
  });
  const firstUrl = trimmed(samples[0]?.cells[mapping.target_url ?? 0] ?? '');
  const plan: Plan = {
    ...{ format, encoding, delimiter, sheet, columns, hasHeader, mapping },
    firstUrl: firstUrl === '' ? undefined : firstUrl,
    notes,
  };
  return { plan, dialect, preamble, firstLine, sheetRows, samples };
}

interface Columns {
  columns: string[];
  hasHeader: boolean;
  /** Set where no header names the columns. */
  urlColumn: number | undefined;
  /** The first rows of data. */
  samples: readonly Row[];
  notes: string[];
}

function findColumns(name: string, head: Head, wanted: string | undefined): Columns {
  const { format, text, isWhole, firstLine } = head;
  if (format === 'jsonl') {
    const columns: string[] = [];
    const reader = createReader(name, { ...head, columns }, firstLine);
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
    return { columns, hasHeader: true, urlColumn: undefined, samples, notes: [] };
  }
  const reader = createReader(name, { ...head, columns: [] }, firstLine);
  const { rows, problem } = sampleRows(text, reader, isWhole);
  const [first, ...rest] = rows;
  if (first === undefined) throw problem?.error ?? noRow(name, head);
  if (format === 'urls') {
    const { hasHeader } = head;
    const columns = [hasHeader ? (first.cells[0] ?? '') : URL_LIST_COLUMN];
    const samples = hasHeader ? rest : rows;
    const notes = hasHeader
      ? [
          'Each line below the first is taken for one URL, though some hold a delimiter. If it is a table: --input-format csv',
        ]
      : [];
    return { columns, hasHeader, urlColumn: 0, samples, notes };
  }
  const found = first.cells.findIndex(looksLikeUrl);
  if (found === -1) {
    const columns = first.cells.map((column) => column.trim());
    return { columns, hasHeader: true, urlColumn: undefined, samples: rest, notes: [] };
  }
  return withoutHeader(head, rows, first.cells, found, wanted);
}

/** A first row that holds a URL is no header: the URL's column gets the field's name, the others their number. */
function withoutHeader(
  { delimiter }: Head,
  rows: readonly Row[],
  first: readonly string[],
  found: number,
  wanted: string | undefined,
): Columns {
  const number = /^\d+$/.test(wanted ?? '') ? Number(wanted) : 0;
  const urlColumn = number >= 1 && number <= first.length ? number - 1 : found;
  const columns = first.map((_, index) =>
    index === urlColumn ? URL_LIST_COLUMN : `column_${index + 1}`,
  );
  const mayBeCut =
    delimiter !== undefined &&
    first.length > 1 &&
    rows.every(({ cells }) => isOneUrl(cells.join(delimiter)));
  const notes = mayBeCut
    ? [
        `Each line is cut at ${JSON.stringify(delimiter)}, although it could be one URL. If it is one: --input-format urls`,
      ]
    : [];
  return { columns, hasHeader: false, urlColumn, samples: rows, notes };
}

function noRow(name: string, { isWhole, firstLine, text }: Head) {
  return isWhole
    ? inputError(`${name} has no rows: all of its cells are empty`)
    : inputError(
        `${name}, line ${firstLine}: the row that begins here has no end in sight`,
        openQuoteHint(text),
      );
}

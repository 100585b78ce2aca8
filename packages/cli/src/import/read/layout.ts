import { inputError } from '../errors.ts';
import { mapColumns } from '../map/map-columns.ts';
import { namedPreset, type PresetForm, recognisePreset } from '../map/presets.ts';
import type { ImportSettings, Plan } from '../types.ts';
import { decodeFile } from './decode.ts';
import { detectFormat, looksLikeUrl, sampleRows } from './detect-format.ts';
import type { Input } from './open-input.ts';
import { JsonlReader, URL_LIST_COLUMN } from './read-lines.ts';

/** Characters of the beginning that are looked at; more only where not even the first row ends in them. */
const HEAD_LENGTH = 256 * 1024;
const MAX_HEAD_LENGTH = 4 * 1024 * 1024;

/** How to read the input: the plan, and what only the reader needs. */
export interface Layout {
  plan: Plan;
  /** Excel's `sep=` line comes before everything. */
  hasSepLine: boolean;
  tagSeparator: string | undefined;
  /** The file is a rejects file of this tool: the apostrophes that made formulas harmless are taken off again. */
  isRejectsFile: boolean;
}

/**
 * Looks at the beginning of the input and settles format, delimiter, header and mapping.
 *
 * @throws CliError (exit code 2) when the input can't be imported as it is, or `--map` or `--from` don't fit it
 */
export async function detectLayout(
  input: Pick<Input, 'path' | 'name'>,
  settings: Pick<
    ImportSettings,
    'map' | 'from' | 'inputFormat' | 'delimiter' | 'tagSeparator' | 'encoding'
  >,
): Promise<Layout> {
  const { head, encoding } = await readHead(input, settings.encoding);
  if (head.trim() === '') throw inputError(`${input.name} is empty`);
  const { format, delimiter, hasSepLine } = detectFormat(settings, input.name, head);
  const table = hasSepLine ? head.slice(head.search(/[\r\n]/)) : head;
  const { columns, hasHeader, urlColumn } =
    delimiter === undefined
      ? untabledColumns(format, input.name, head)
      : tableColumns(sampleRows(table, delimiter)[0]?.cells ?? [], settings.map.target_url);

  const preset = choosePreset(settings, columns, urlColumn === undefined);
  const mapping = mapColumns({
    name: input.name,
    columns,
    map: settings.map,
    preset,
    urlColumn,
  });
  return {
    plan: { format, encoding, delimiter, columns, hasHeader, preset: preset?.preset, mapping },
    hasSepLine,
    tagSeparator: settings.tagSeparator ?? preset?.tagSeparator,
    isRejectsFile: columns.at(-2) === 'line' && columns.at(-1) === 'reason',
  };
}

async function readHead(input: Pick<Input, 'path' | 'name'>, label: string | undefined) {
  let head = '';
  let encoding = '';
  const pieces = decodeFile(input.path, {
    name: input.name,
    encoding: label,
    onEncoding: (name) => {
      encoding = name;
    },
  });
  for await (const piece of pieces) {
    head += piece;
    const hasRow = head.length >= HEAD_LENGTH && /[\r\n]/.test(head);
    if (hasRow || head.length >= MAX_HEAD_LENGTH) break;
  }
  return { head, encoding };
}

interface Columns {
  columns: string[];
  hasHeader: boolean;
  /** Set where no header names the columns. */
  urlColumn: number | undefined;
}

function untabledColumns(format: Plan['format'], name: string, head: string): Columns {
  if (format === 'urls') return { columns: [URL_LIST_COLUMN], hasHeader: false, urlColumn: 0 };
  const reader = new JsonlReader(name);
  reader.push(head);
  if (reader.columns.length === 0) reader.end();
  return { columns: [...reader.columns], hasHeader: true, urlColumn: undefined };
}

/** A first row that holds a URL is no header: the URL's column gets the field's name, the others their number. */
function tableColumns(first: readonly string[], wanted: string | undefined): Columns {
  const found = first.findIndex(looksLikeUrl);
  if (found === -1) {
    return { columns: first.map((name) => name.trim()), hasHeader: true, urlColumn: undefined };
  }
  const number = /^\d+$/.test(wanted ?? '') ? Number(wanted) : 0;
  const urlColumn = number >= 1 && number <= first.length ? number - 1 : found;
  const columns = first.map((_, index) =>
    index === urlColumn ? URL_LIST_COLUMN : `column_${index + 1}`,
  );
  return { columns, hasHeader: false, urlColumn };
}

function choosePreset(
  settings: Pick<ImportSettings, 'from' | 'map'>,
  columns: readonly string[],
  named: boolean,
): PresetForm | undefined {
  if (settings.from !== undefined) return namedPreset(settings.from, columns);
  // A user who says where the URL is knows the file better than its header's looks.
  return named && settings.map.target_url === undefined ? recognisePreset(columns) : undefined;
}

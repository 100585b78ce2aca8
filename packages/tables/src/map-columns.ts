import { looksLikeUrl, SCHEMELESS_URL } from './cells.ts';
import { inputError } from './errors.ts';
import { LINK_FIELDS, type LinkField, type Plan, type Row, type TableOptions } from './types.ts';

/** What the beginning of a table says about its columns. */
export interface Columns extends Pick<Plan, 'columns' | 'hasHeader' | 'notes'> {
  /** Set where no header names the columns: the one of the first row that holds a URL. */
  urlColumn?: number;
  /** The first rows of data. */
  samples: readonly Row[];
}

type Settings = Pick<TableOptions, 'map' | 'isMapOptional' | 'needsTarget'>;

interface MapColumnsInput extends Columns, Settings {
  /** Name of the file in messages. */
  name: string;
  /** Places of columns that fill no field. */
  added: readonly number[];
}

/**
 * Which column fills which field: `--map` first, then the usual names, or without a header the column that holds URLs. The notes gain a
 * sentence for each guess that the user should know.
 * @throws InputError when a column is missing or ambiguous, or none holds the target URL
 */
export function mapColumns(input: MapColumnsInput): Plan['mapping'] {
  const mapping: Plan['mapping'] = {};
  for (const field of LINK_FIELDS) {
    const wanted = input.map[field];
    const index =
      wanted === undefined ? automaticColumn(input, field) : findColumn(input, field, wanted);
    if (index !== undefined) mapping[field] = index;
  }
  if (input.needsTarget !== false) mapping.target_url ??= onlyUrlColumn(input);
  return mapping;
}

function automaticColumn(input: MapColumnsInput, field: LinkField): number | undefined {
  if (input.urlColumn !== undefined) return field === 'target_url' ? input.urlColumn : undefined;
  for (const key of ALIASES[field]) {
    const found = indexesWhere(input, (name) => columnKey(name) === key);
    const [index] = found;
    if (index === undefined) continue;
    const foreign = input.columns[foreignColumn(input, field) ?? -1];
    if (foreign === undefined) {
      // Of JSON Lines, each has its own keys.
      const isTable = input.samples[0]?.object === undefined;
      if (found.length > 1 && isTable) throw ambiguous(input, field, found);
      return index;
    }
    const name = input.columns[index] ?? '';
    input.notes.push(
      `${JSON.stringify(name)} is not used: ${JSON.stringify(foreign)} lists links of another service. If it is meant for this one: --map ${field}=${name}`,
    );
    return undefined;
  }
  return undefined;
}

/** A domain id or a redirect means nothing here where a column lists the short links of another service: that column. */
function foreignColumn(input: MapColumnsInput, field: LinkField): number | undefined {
  if (!isOfOneService(field)) return undefined;
  const { object } = input.samples[0] ?? {};
  return indexesWhere(
    input,
    (name) => isShortLinkColumn(name) && (object === undefined || Object.hasOwn(object, name)),
  )[0];
}

/** Whether what a field holds means nothing at another service. */
export function isOfOneService(field: LinkField): boolean {
  return field === 'domain_id' || field === 'redirect_type';
}

/** Where no name says which column holds the target URL: the only one that holds a URL in each of the first rows. */
function onlyUrlColumn(input: MapColumnsInput): number {
  const { columns, samples } = input;
  const found = indexesWhere(
    input,
    (_, index) => samples.length > 0 && samples.every(({ cells }) => looksLikeUrl(cells[index])),
  );
  const [index] = found;
  if (index !== undefined && found.length === 1) {
    const column = JSON.stringify(columns[index]);
    if (SCHEMELESS_URL.test(columns[index] ?? '')) {
      throw inputError(
        `${input.name}: the first line could be a URL, ${column}, or the names of the columns`,
        `If it is a URL, write https:// before it. If it is a name: --map target_url=${index + 1}`,
      );
    }
    input.notes.push(
      `No column has a usual name. ${column} is the only one that holds URLs, so it is used as the target URL.`,
    );
    return index;
  }
  const several =
    found.length > 1
      ? `URLs are in ${listColumns(found.map((at) => columns[at] ?? ''))}.`
      : `Its columns are ${listColumns(columns)}.`;
  const names = columns.filter((name) => name !== '');
  const isTitle = names.length < 2 || samples.some(({ cells }) => cells.length > columns.length);
  const below = isTitle
    ? '\nIf the header is on a line below, leave out those above it: --skip-lines 1'
    : '';
  throw inputError(
    `${input.name}: no column could be recognized as the target URL`,
    `${several} Name the right one: --map target_url=NAME${below}`,
  );
}

/**
 * A column as people write it: its very name, its name with other case, spaces or punctuation, or its number from 1. Undefined for
 * an empty one, which leaves the field out.
 */
function findColumn(input: MapColumnsInput, field: LinkField, wanted: string): number | undefined {
  if (wanted === '' && field !== 'target_url') return undefined;
  const key = columnKey(wanted);
  const places = [...input.columns.keys()];
  const named = places.filter((index) => input.columns[index] === wanted);
  const alike = places.filter(
    (index) => key !== '' && columnKey(input.columns[index] ?? '') === key,
  );
  const found = named.length > 0 ? named : alike;
  if (found.length > 1) throw ambiguous(input, field, found);
  if (found[0] !== undefined) return found[0];
  const number = /^\d+$/.test(wanted) ? Number(wanted) : 0;
  if (number >= 1 && number <= input.columns.length) return number - 1;
  if (input.isMapOptional) return automaticColumn(input, field);
  throw inputError(
    `${input.name}: --map ${field}=${wanted}: there is no such column`,
    `Its columns are ${listColumns(input.columns)}`,
  );
}

/** Columns that may fill a field, and match. */
function indexesWhere(
  { columns, added }: MapColumnsInput,
  matches: (name: string, index: number) => boolean,
): readonly number[] {
  return columns.flatMap((name, index) =>
    !added.includes(index) && matches(name, index) ? [index] : [],
  );
}

function ambiguous(input: MapColumnsInput, field: LinkField, found: readonly number[]) {
  const [first = 0] = found;
  const numbers = found.map((index) => index + 1).join(' and ');
  const names = found.map((index) => JSON.stringify(input.columns[index] ?? '')).join(', ');
  return inputError(
    `${input.name}: columns ${numbers} could both be ${field}: ${names}`,
    `Name one by its number, such as --map ${field}=${first + 1}`,
  );
}

/** A column's name as names are compared: lower case, letters and digits only. */
export function columnKey(name: string): string {
  return name
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}]/gu, '');
}

/** Rows in which the header is looked for. */
const MAX_TITLE_ROWS = 20;

/**
 * Where the header stands in the first rows of a table: below a title, it is the row that names the column of targets, with a URL under
 * that name and none above it. 0 where the first row is the header, or nothing tells.
 * @param wanted - `--map target_url`
 */
export function headerIndex(rows: readonly Pick<Row, 'cells'>[], wanted?: string): number {
  for (const [index, { cells }] of rows.slice(0, MAX_TITLE_ROWS).entries()) {
    if (cells.some(looksLikeUrl)) return 0;
    if (targetColumns(cells, wanted).length === 0) continue;
    if (index === 0 || namesTarget(rows.slice(index), wanted)) return index;
  }
  return 0;
}

/** Whether the first of these rows names a column of targets, with a URL under that name. */
export function namesTarget(rows: readonly Pick<Row, 'cells'>[], wanted?: string): boolean {
  const columns = targetColumns(rows[0]?.cells ?? [], wanted);
  return columns.some((column) => rows.slice(1).some(({ cells }) => looksLikeUrl(cells[column])));
}

function targetColumns(names: readonly string[], wanted = ''): number[] {
  const keys = /^\d*$/.test(wanted) ? ALIASES.target_url : [columnKey(wanted)];
  return names.flatMap((name, column) => (keys.includes(columnKey(name)) ? [column] : []));
}

/**
 * Usual names of the columns that fill each field, best first. `link` comes last: other services export the short URL
 * under it (Bitly, Dub), so it counts only where no better name is found.
 */
export const ALIASES: Readonly<Record<LinkField, readonly string[]>> = {
  target_url: [
    'targeturl',
    'longurl',
    'destinationurl',
    'originalurl',
    'longlink',
    'destination',
    'destinationlink',
    'originallink',
    'redirecturl',
    'fullurl',
    'target',
    'url',
    'urls',
    'uri',
    'website',
    'webaddress',
    'href',
    'link',
  ],
  title: ['title', 'linktitle', 'pagetitle', 'name'],
  tags: ['tags', 'tag', 'labels', 'label'],
  domain_id: ['domainid'],
  redirect_type: ['redirecttype', 'redirectcode', 'redirectstatus'],
};

/** Columns that hold the short link itself: a file that has one lists links that exist at some service. */
const SHORT_LINK_COLUMNS: ReadonlySet<string> = new Set([
  'shorturl',
  'shortlink',
  'shortcode',
  'bitlink',
  'slashtag',
  'keyword',
  'idstring',
]);

/** Whether a column or key of this name holds the short link itself. */
export function isShortLinkColumn(name: string): boolean {
  return SHORT_LINK_COLUMNS.has(columnKey(name));
}

/** The columns there are, for messages: `"URL", "Title" and 3 more`. */
function listColumns(columns: readonly string[]): string {
  const MAX_LISTED = 20;
  const listed = columns.slice(0, MAX_LISTED).map((name) => JSON.stringify(name));
  const more = columns.length - listed.length;
  return more > 0 ? `${listed.join(', ')} and ${more} more` : listed.join(', ');
}

import { columnKey, looksLikeUrl, toCell, trimmed } from '@shortlink/tables';
import {
  dropFormulaGuard,
  inputError,
  type Row,
  refuseConflict,
  shown,
} from '@shortlink/tables/basics';
import type { Layout } from '../layout.ts';
import { NO_RESPONSE, ROW_STATUSES } from '../types.ts';
import { isWholeMadeFor } from './link-identity.ts';

/** The columns that an import adds, in this order. */
export const RESULT_COLUMNS = ['code', 'short_url', 'status', 'error', 'made_for'] as const;

export type ResultColumn = (typeof RESULT_COLUMNS)[number];

/** Columns that make a table one of results. Earlier releases wrote no others. */
export const LEAST_COLUMNS = ['code', 'short_url', 'status', 'error'] as const;

export type ResultColumns = Partial<Record<ResultColumn, number>>;

/**
 * The result columns of an input: side by side as we write them, the last ones of several; or by the first row that an import has filled,
 * however their names were retyped; or else four of them, side by side or in any order. Exports of other services have columns such as `code`
 * and `short_url` too, but those are other links.
 */
export function findResultColumns(columns: readonly string[], samples: readonly Row[] = []) {
  const keys = columns.map(columnKey);
  const sideBySide = (first: number): ResultColumns =>
    Object.fromEntries(RESULT_COLUMNS.map((name, index) => [name, first + index]));
  const last = keys.length - RESULT_COLUMNS.length;
  /** Where these stand side by side for the last time. */
  const lastOf = (names: readonly string[]) => {
    const isAt = (first: number) => names.every((name, at) => keys[first + at] === columnKey(name));
    return keys.findLastIndex((_, first) => isAt(first));
  };
  const named = lastOf(RESULT_COLUMNS);
  if (named !== -1) return sideBySide(named);
  for (const { cells } of samples) {
    const at = cells.findIndex((_, index) => isWritten(cells.slice(index)));
    // In a row with a delimiter that is not quoted, the results stand too far right.
    if (at !== -1 && at <= last) return sideBySide(at);
  }
  const names = LEAST_COLUMNS.map(columnKey);
  if (!names.every((name) => keys.includes(name))) return {};
  const first = lastOf(LEAST_COLUMNS);
  const madeFor = keys.lastIndexOf(columnKey('made_for'));
  const places = names.map((key, at) => (first === -1 ? keys.lastIndexOf(key) : first + at));
  return {
    ...Object.fromEntries(LEAST_COLUMNS.map((name, at) => [name, places[at]])),
    ...(madeFor !== -1 && { made_for: madeFor }),
  };
}

/** Whether cells begin with what an import writes for a link, and nobody else. */
function isWritten(cells: readonly string[]): boolean {
  const [code = '', short_url = '', status, , made_for = ''] = cells;
  if (status !== 'created' || !isWholeMadeFor(made_for)) return false;
  return code !== '' && looksLikeUrl(short_url) && short_url.endsWith(dropFormulaGuard(code));
}

/**
 * Refuses a row that names its link where that can't be read, so that the link would be created again: somebody has deleted some of the
 * result columns, or keys in JSON Lines, or the short URL stands in a column of another name. Throws an InputError.
 *
 * @param origins - addresses that the short URLs of the service begin with
 */
export function lostLinkGuard(
  name: string,
  layout: Pick<Layout, 'plan' | 'resultColumns'>,
  origins: readonly string[],
): (row: Row) => void {
  const { columns, format, hasHeader, delimiter = ',' } = layout.plan;
  const present = Object.fromEntries(RESULT_COLUMNS.map((key) => [key, columns.lastIndexOf(key)]));
  const isWhole = layout.resultColumns.short_url !== undefined;
  const isOurs = (value: unknown) =>
    typeof value === 'string' && origins.some((origin) => isShortUrlAt(value, origin));
  const isParted =
    format === 'jsonl' || (!isWhole && isPart(missingColumns(present), present['made_for'] !== -1));
  const holdsOthers = !isWhole && hasHeader && columns.length > 1;
  const refusePart = (row: Row) => {
    if (!isParted) return;
    const { object } = row;
    const retyped = object && retypedStatus(object);
    if (retyped !== undefined) {
      throw inputError(
        `${name}, line ${row.line}: the row has a link of an earlier import, but a key that was retyped as ${JSON.stringify(retyped)}, so the link would be created again`,
        `Name the keys as that import did: ${RESULT_COLUMNS.join(', ')}.`,
      );
    }
    if (object && !RESULT_COLUMNS.some((key) => Object.hasOwn(object, key))) return;
    const missing = object
      ? LEAST_COLUMNS.filter((key) => !Object.hasOwn(object, key))
      : missingColumns(present);
    const { code, short_url, status, made_for } = resultsOf(row, present);
    const isMade = isWholeMadeFor(made_for);
    if (!isPart(missing, isMade) || ownLink(row, layout) !== undefined) return;
    const isOfImport = missing.length === 1 || isMade;
    const isCreated = missing.includes('status')
      ? isOfImport || origins.some((origin) => short_url.startsWith(`${origin}/`))
      : status === 'created';
    const isLost = missing.includes('short_url') && (code !== '' || isMade);
    if (!isCreated || (short_url === '' && !isLost)) return;
    const list = missing.map((column) => JSON.stringify(column)).join(', ');
    throw inputError(
      `${name}, line ${row.line}: the row has a link of an earlier import, but no ${list}, so the link would be created again`,
      'Import the file as that import wrote it. If the row is no result of an import, give these columns other names.',
    );
  };
  // Searching the text of a row is faster than cutting out its cells first.
  const isPlain = (text: string | undefined) =>
    text !== undefined && !/^[<=>]/.test(text) && !origins.some((origin) => text.includes(origin));
  return (row) => {
    if (!isParted && isPlain(row.asCsv?.(columns.length, delimiter))) return;
    const { object } = row;
    refuseConflict(name, row.line, row.text ?? (object === undefined ? row.cells[0] : '') ?? '');
    refusePart(row);
    if (!holdsOthers) return;
    const values = object === undefined ? row.cells : columns.map((key) => object[key]);
    const found = values.findIndex(isOurs);
    if (found === -1 || (object !== undefined && ownLink(row, layout) !== undefined)) return;
    const column = columns[found];
    const where = column === undefined ? 'a cell beyond the header' : JSON.stringify(column);
    throw inputError(
      `${name}, line ${row.line}: ${where} has ${shown(row.cells[found] ?? '')}, a short URL of this service, so the link would be created again`,
      `Name the columns of an earlier import as it did: ${RESULT_COLUMNS.join(', ')}. Or take the column out.`,
    );
  };
}

/** The key `status` of an import, where somebody has retyped it and the other ones too. */
function retypedStatus(object: Readonly<Record<string, unknown>>): string | undefined {
  let status: string | undefined;
  for (const key in object) {
    if (object[key] === 'created' && columnKey(key) === 'status') status ??= key;
  }
  const isOther = status !== undefined && status !== 'status' && !isResult(object);
  return isOther && Object.keys(object).some((key) => columnKey(key) === 'shorturl')
    ? status
    : undefined;
}

/** Whether a URL is an address of the service with one segment after it. */
export function isShortUrlAt(url: string, origin: string): boolean {
  return url.startsWith(origin) && /^\/[^/\s?#]+$/.test(trimmed(url).slice(origin.length));
}

function missingColumns(found: ResultColumns): readonly ResultColumn[] {
  return LEAST_COLUMNS.filter((column) => found[column] === -1);
}

function isPart({ length }: readonly ResultColumn[], isMade: boolean): boolean {
  return length > 0 && (isMade || length < LEAST_COLUMNS.length);
}

type ResultLayout = Pick<Layout, 'resultColumns'>;

/** The link that a row of a results file names, which exists whatever else is known. */
export interface OwnLink {
  code: string;
  short_url: string;
  /** What it was created with; empty where the row does not say so. See `madeFor`. */
  made_for: string;
}

/** The link that the row itself names. */
export function ownLink(row: Row, layout: ResultLayout): OwnLink | undefined {
  const { resultColumns } = layout;
  const { object } = row;
  const url = object ? object['short_url'] : resultColumns.short_url;
  if (url === undefined) return undefined;
  const { code, short_url, made_for } = resultsOf(row, resultColumns);
  if (short_url === '' || strayText(row, layout) !== undefined) return undefined;
  const end = short_url.slice(short_url.lastIndexOf('/') + 1);
  // A spreadsheet takes some codes for numbers, and changes them.
  const isCode = code !== '' && short_url.endsWith(`/${code}`);
  return { code: isCode ? code : end || code, short_url, made_for };
}

export interface ClaimOfLink {
  own: OwnLink | undefined;
  /** Why it is not known whether the link exists, where an import has written so. */
  doubt: string | undefined;
  /** What a link in doubt was asked for with. @default '' for not known */
  made_for?: string;
}

/** What a row says about its link. */
export interface Claim extends ClaimOfLink {
  line: number;
}

/** @throws InputError for a row whose link was created, where somebody has deleted the short URL or sorted it away from its code */
export function claimOf(name: string, row: Row, layout: ResultLayout): Claim {
  const { line } = row;
  const own = ownLink(row, layout);
  const { code = '' } = own === undefined ? {} : resultsOf(row, layout.resultColumns);
  // A spreadsheet makes other codes longer or shorter.
  if (own !== undefined && code !== own.code && code.length === own.code.length) {
    throw inputError(
      `${name}, line ${line}: ${code} is not the code of ${own.short_url}, as if a column had been sorted by itself`,
      'Put what belongs together into one row again.',
    );
  }
  const claim: Claim = { line, own, doubt: undefined, made_for: '' };
  const isTable = row.object === undefined;
  const hasResults = isTable ? layout.resultColumns.status !== undefined : isResult(row.object);
  if (own !== undefined || !hasResults) return claim;
  const { short_url, status, error, made_for } = resultsOf(row, layout.resultColumns);
  if (status === 'unknown') return { ...claim, doubt: error || NO_RESPONSE, made_for };
  if (status !== 'created' || short_url !== '') return claim;
  throw inputError(
    `${name}, line ${line}: the row says that its link was created, but has no short_url, so the link would be created again`,
    'Put the short URL back. If the link is to be created, clear the status too.',
  );
}

const STATUSES: ReadonlySet<string> = new Set(ROW_STATUSES);

/** Whether an import has written an object, also where somebody left out its empty values. */
export function isResult(object: Readonly<Record<string, unknown>>): boolean {
  return (
    LEAST_COLUMNS.every((key) => Object.hasOwn(object, key)) ||
    (object['status'] === 'created' && [object['code'], object['short_url']].every(Boolean))
  );
}

/**
 * Text that stands where results go, though no import wrote it: the end of a row with a delimiter that is not quoted, or a key of the user's
 * own. A short URL with its code is none: somebody may have written in a link that exists.
 */
export function strayText(row: Row, { resultColumns }: ResultLayout): string | undefined {
  const { object } = row;
  if (object === undefined && resultColumns.status === undefined) return undefined;
  const { code, short_url, status, error } = resultsOf(row, resultColumns);
  if (object !== undefined && !isResult(object)) {
    return code || short_url || status || error || undefined;
  }
  const isLink = looksLikeUrl(short_url) && short_url.endsWith(code);
  return isLink || STATUSES.has(status) ? undefined : code || short_url || status || undefined;
}

export function hasStatus(row: Row, { resultColumns }: ResultLayout): boolean {
  return STATUSES.has(resultsOf(row, resultColumns).status);
}

function resultsOf(row: Row, resultColumns: ResultColumns) {
  const { object } = row;
  const cells = object === undefined ? row.cells : [];
  const read = (name: ResultColumn) => {
    if (object !== undefined) return trimmed(toCell(object[name] ?? null));
    const index = resultColumns[name];
    return index === undefined ? '' : trimmed(cells[index] ?? '');
  };
  // A code may begin like a formula.
  return {
    code: dropFormulaGuard(read('code')),
    short_url: read('short_url'),
    status: read('status'),
    error: read('error'),
    made_for: read('made_for'),
  };
}

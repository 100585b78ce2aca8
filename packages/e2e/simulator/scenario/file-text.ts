import { gzipSync } from 'node:zlib';
import { cellsOf as ownCellsOf, type ResultRow, targetOf, titleOf } from './files.ts';
import type { Dialect, Encoding, RowPlan, UserTraits } from './scenario.ts';

/** A short URL of another service, in lines of its export. */
export const OTHERS_LINK = 'https://example.com/not-this-one';

const PLAIN: Dialect = {
  delimiter: ',',
  lineEnd: '\n',
  hasMark: false,
  urlName: 'url',
  isReversed: false,
  hasNotes: false,
};

const MARK = '\ufeff';
const DELIMITERS = [',', ';', '\t'] as const;
const URL_NAMES = ['url', 'Long URL', 'long_url', 'target_url'];

/** Holds what a table has to quote. */
const NOTE = 'a, b; c';

/**
 * The text of the input. With `filled`, each row has the results that it had in the file before; new rows have none, or those of the row
 * that they were copied from.
 */
export function inputText(
  rows: readonly RowPlan[],
  user: Pick<UserTraits, 'format' | 'hasDomains' | 'hasTags' | 'keepsResults'>,
  dialect: Dialect | undefined,
  filled: readonly ResultRow[] | undefined,
  copiesRows = false,
): string {
  const results = resultsOf(rows, user, filled ?? [], copiesRows);
  const isMadeFor = filled?.some(({ made_for }) => made_for !== '') === true;
  const objects = rows.map((row, index) => {
    const { code = '', short_url = '', status = '', error = '', made_for } = results[index] ?? {};
    return {
      row,
      own: {
        url: targetOf(row),
        title: titleOf(row, user),
        ...ownCellsOf(row, user),
        ...(user.hasDomains && { domain_id: row.domain ?? '' }),
      },
      results:
        filled === undefined
          ? {}
          : { code, short_url, status, error, ...(isMadeFor && { made_for: made_for ?? '' }) },
    };
  });
  switch (user.format) {
    case 'urls':
      return objects.map(({ own }) => `${own.url}\n`).join('');
    case 'jsonl':
      return objects
        .map(
          ({ row, own, results }) => `${JSON.stringify({ ...withKeys(row, own), ...results })}\n`,
        )
        .join('');
    default:
      return tableText(
        objects.map(({ own, results }) => ({ own, results })),
        dialect ?? PLAIN,
      );
  }
}

/** The bytes of a text. UTF-16 is known by its mark alone. */
export function encoded(text: string, encoding: Encoding | undefined): Buffer {
  if (encoding === undefined) return Buffer.from(text);
  if (encoding === 'gzip') return gzipSync(text);
  const bytes = Buffer.from(text.startsWith(MARK) ? text : MARK + text, 'utf16le');
  return encoding === 'utf-16be' ? bytes.swap16() : bytes;
}

/** The results that each row had in the file before: an owner who edits a title or a target leaves the cells beside it. */
function resultsOf(
  rows: readonly RowPlan[],
  user: Pick<UserTraits, 'format' | 'keepsResults'>,
  filled: readonly ResultRow[],
  copiesRows: boolean,
): (ResultRow | undefined)[] {
  const left = [...filled];
  const take = (row: RowPlan | undefined, hasTitle: boolean) => {
    if (row === undefined) return undefined;
    const [target, title, domain = ''] = [targetOf(row), titleOf(row, user), row.domain];
    const index = left.findIndex(
      (old) => old.target === target && old.domain === domain && (!hasTitle || old.title === title),
    );
    return index === -1 ? undefined : left.splice(index, 1)[0];
  };
  const before = rows.map((row) => (row.was === undefined ? undefined : { ...row, url: row.was }));
  const edited = before.map((row) => (user.keepsResults ? take(row, true) : undefined));
  const exact = rows.map((row, index) => edited[index] ?? take(row, true));
  if (!user.keepsResults) return exact;
  const own = rows.map((row, index) => exact[index] ?? take(row, false));
  if (!copiesRows) return own;
  // From the next row below: then a copy stands above its original.
  return own.map((results, index) => results ?? own.slice(index).find((other) => other?.code));
}

function tableText(
  rows: readonly Record<'own' | 'results', Readonly<Record<string, string>>>[],
  { delimiter, lineEnd, hasMark, urlName, isReversed, hasNotes }: Dialect,
): string {
  const line = (own: readonly string[], results: readonly string[]) => {
    const cells = [...(isReversed ? own.toReversed() : own), ...results];
    return cells.map((cell) => quoted(cell, delimiter)).join(delimiter) + lineEnd;
  };
  const notes = (text: string) => (hasNotes ? [text] : []);
  const [{ own, results } = { own: {}, results: {} }] = rows;
  const names = Object.keys(own).map((name) => (name === 'url' ? urlName : name));
  const header = line([...names, ...notes('Note')], Object.keys(results));
  const lines = rows.map((row) =>
    line([...Object.values(row.own), ...notes(NOTE)], Object.values(row.results)),
  );
  return (hasMark ? MARK : '') + [header, ...lines].join('');
}

function quoted(cell: string, delimiter: string): string {
  return cell.includes(delimiter) || /["\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** A line of JSON Lines, with the keys that its row has beside its own. */
function withKeys({ keys }: RowPlan, own: Readonly<Record<string, string>>): object {
  const { url, ...others } = own;
  switch (keys) {
    case 'a note':
      return { note: NOTE, ...own, empty: null };
    case 'other names':
      return { ...others, long_url: url, link: OTHERS_LINK };
    case 'reversed':
      return Object.fromEntries(Object.entries(own).toReversed());
    case 'a short link':
      return { ...own, code: 'theirs', short_url: 'https://short.example/theirs' };
    case 'a status':
      return { status: 'active', ...own };
    default:
      return own;
  }
}

/** The rows of a results file; undefined where it is not whole. */
export function parseResults(text: string): ResultRow[] | undefined {
  if (!text.endsWith('\n')) return undefined;
  if (/^\s*\{/.test(text)) {
    const rows = text.slice(0, -1).split('\n').map(parseJson);
    return rows.some((row) => row === undefined) ? undefined : rows.map((row) => toRow(row ?? {}));
  }
  const [header = [], ...lines] = parseTable(text);
  const column = (name: string) => header.lastIndexOf(name);
  const targets = URL_NAMES.map(column);
  const [title, domain] = [column('title'), column('domain_id')];
  const [code, url] = [column('code'), column('short_url')];
  const [status, error] = [column('status'), column('error')];
  const madeFor = column('made_for');
  return lines.map((cells) => {
    const cell = (index: number) => withoutGuard(cells[index] ?? '');
    return {
      target: targets.map(cell).find((text) => text !== '') ?? '',
      title: cell(title),
      domain: cell(domain),
      code: cell(code),
      short_url: cell(url),
      status: cell(status),
      error: cell(error),
      made_for: cell(madeFor),
    };
  });
}

/** Before what a spreadsheet would run as a formula, the import writes an apostrophe. */
function withoutGuard(cell: string): string {
  return cell.replace(/^'(?==)/, '');
}

/** The cells of a table, the header first, in whatever dialect it is written. Cells hold no line ends. */
export function parseTable(text: string): string[][] {
  const lines = (text.startsWith(MARK) ? text.slice(1) : text).split(/\r?\n/);
  const delimiter = DELIMITERS.find((mark) => lines[0]?.includes(mark)) ?? ',';
  return lines.slice(0, -1).map((line) => cellsOf(line, delimiter));
}

function parseJson(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function toRow(row: Record<string, unknown>): ResultRow {
  const text = (...names: string[]) => String(names.map((name) => row[name]).find(Boolean) ?? '');
  return {
    target: text('url', 'long_url'),
    title: text('title'),
    domain: text('domain_id'),
    code: text('code'),
    short_url: text('short_url'),
    status: text('status'),
    error: text('error'),
    made_for: text('made_for'),
  };
}

function cellsOf(line: string, delimiter: string): string[] {
  if (!line.includes('"')) return line.split(delimiter);
  const cells: string[] = [];
  const cell = new RegExp(`(?:"((?:[^"]|"")*)"|([^${delimiter}]*))(?:${delimiter}|$)`, 'g');
  for (const [, quotedCell, plain] of line.matchAll(cell)) {
    cells.push(quotedCell === undefined ? (plain ?? '') : quotedCell.replaceAll('""', '"'));
  }
  // After a last cell with something in it, the end of the line matches once more.
  return line.endsWith(delimiter) ? cells : cells.slice(0, -1);
}

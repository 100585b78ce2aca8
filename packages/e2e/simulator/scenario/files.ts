import { REFUSED_TITLE } from '../services/scripted.ts';
import type { RowPlan, UserTraits } from './scenario.ts';

/** What the results say of a row. */
export interface ResultRow {
  target: string;
  title: string;
  domain: string;
  code: string;
  short_url: string;
  status: string;
  error: string;
}

export const FOLDER = '/files';

export function inputPath({ format }: Pick<UserTraits, 'format'>): string {
  return `${FOLDER}/links.${format === 'urls' ? 'txt' : format}`;
}

export function resultsPath(user: Pick<UserTraits, 'format' | 'inPlace'>): string {
  return user.inPlace ? inputPath(user) : `${inputPath(user)}.results.csv`;
}

/** Results of a list of URLs are a table. */
export function outputFormat({ format }: Pick<UserTraits, 'format'>): { format: 'csv' | 'jsonl' } {
  return { format: format === 'jsonl' ? 'jsonl' : 'csv' };
}

export function targetOf({ url, kind }: RowPlan): string {
  return kind === 'invalid' ? `not a url ${url}` : `https://example.com/${url}`;
}

/** A list of URLs has no titles, so that nothing in it can be refused. */
export function titleOf({ title, kind }: RowPlan, { format }: Pick<UserTraits, 'format'>): string {
  if (format === 'urls') return '';
  return kind === 'refused' ? REFUSED_TITLE : `t${title}`;
}

/** The text of the input. With `filled`, each row has the results that it had in the file before. */
export function inputText(
  rows: readonly RowPlan[],
  user: Pick<UserTraits, 'format' | 'hasDomains'>,
  filled: readonly ResultRow[] | undefined,
): string {
  const left = [...(filled ?? [])];
  const resultsOf = (row: RowPlan): ResultRow | undefined => {
    const [target, title] = [targetOf(row), titleOf(row, user)];
    const { domain = '' } = row;
    const index = left.findIndex(
      (old) => old.target === target && old.title === title && old.domain === domain,
    );
    return index === -1 ? undefined : left.splice(index, 1)[0];
  };
  const lines = rows.map((row) => {
    const [target, title] = [targetOf(row), titleOf(row, user)];
    const { code = '', short_url = '', status = '', error = '' } = resultsOf(row) ?? {};
    const domain = user.hasDomains ? { domain_id: row.domain ?? '' } : {};
    const results = filled === undefined ? {} : { code, short_url, status, error };
    switch (user.format) {
      case 'urls':
        return target;
      case 'jsonl':
        return JSON.stringify({ url: target, title, ...domain, ...results });
      default:
        return [target, title, ...Object.values({ ...domain, ...results }).map(quoted)].join();
    }
  });
  if (user.format === 'csv') {
    const own = user.hasDomains ? 'url,title,domain_id' : 'url,title';
    lines.unshift(filled === undefined ? own : `${own},code,short_url,status,error`);
  }
  return `${lines.join('\n')}\n`;
}

function quoted(cell: string): string {
  return /[",\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell;
}

/** The rows of a results file; undefined where it is not whole. */
export function parseResults(
  text: string,
  { format }: Pick<UserTraits, 'format'>,
): ResultRow[] | undefined {
  if (!text.endsWith('\n')) return undefined;
  const lines = text.slice(0, -1).split('\n');
  if (format === 'jsonl') {
    const rows = lines.map((line) => parseJson(line));
    return rows.some((row) => row === undefined) ? undefined : rows.map((row) => toRow(row ?? {}));
  }
  const header = cellsOf(lines.shift() ?? '');
  const column = (...names: string[]) => header.findIndex((name) => names.includes(name));
  const target = column('url', 'target_url');
  const [title, domain] = [column('title'), column('domain_id')];
  const [code, url] = [column('code'), column('short_url')];
  const [status, error] = [column('status'), column('error')];
  return lines.map((line) => {
    const cells = cellsOf(line);
    const cell = (index: number) => cells[index] ?? '';
    return {
      target: cell(target),
      title: cell(title),
      domain: cell(domain),
      code: cell(code),
      short_url: cell(url),
      status: cell(status),
      error: cell(error),
    };
  });
}

function parseJson(line: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

function toRow(row: Record<string, unknown>): ResultRow {
  const text = (name: string) => String(row[name] ?? '');
  return {
    target: text('url'),
    title: text('title'),
    domain: text('domain_id'),
    code: text('code'),
    short_url: text('short_url'),
    status: text('status'),
    error: text('error'),
  };
}

function cellsOf(line: string): string[] {
  if (!line.includes('"')) return line.split(',');
  const cells: string[] = [];
  for (const [, quotedCell, plain] of line.matchAll(/(?:"((?:[^"]|"")*)"|([^,]*))(?:,|$)/g)) {
    cells.push(quotedCell === undefined ? (plain ?? '') : quotedCell.replaceAll('""', '"'));
  }
  return cells;
}

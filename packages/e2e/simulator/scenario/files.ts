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
  made_for: string;
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

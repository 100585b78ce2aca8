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

/** Where the files of an import are. */
export interface Paths {
  folder: string;
  input: string;
  /** Those of the input, where it is filled in place. */
  results: string;
  rejects: string;
  journal: string;
}

export function pathsOf(
  { format, inPlace }: Pick<UserTraits, 'format' | 'inPlace'>,
  folder: string,
  name: string,
): Paths {
  const input = `${folder}/${name}.${format === 'urls' ? 'txt' : format}`;
  return {
    folder,
    input,
    results: inPlace ? input : `${input}.results.csv`,
    rejects: `${input}.rejects.csv`,
    journal: `${input}.shortlink-journal`,
  };
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

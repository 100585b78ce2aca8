import { REFUSED_TITLE } from '../../../sdk/test/scripted-service/scripted-service.ts';
import { contentOfLink, USUAL_REDIRECT } from '../../../sdk/test/scripted-service/service.ts';
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

/** Targets that are easily taken for something else. A list of URLs can hold the first one only. */
const ODD_TARGETS = [
  (url: number) => `https://exämple.com/ü/${url}?q=日本#🎉`,
  (url: number) => `https://example.com/${url}?a=1,2;3&b="x"|'`,
  (url: number) => `HTTP://Example.COM:8080/${url}/%7E%zz`,
];

export function targetOf({ url, kind, isOdd }: RowPlan): string {
  if (kind === 'invalid') return `not a url ${url}`;
  const odd = isOdd ? ODD_TARGETS[url % ODD_TARGETS.length] : undefined;
  return odd?.(url) ?? `https://example.com/${url}`;
}

const ODD_TITLES = ['Ünïcödé 🎉 日本', 'a "b", c; d|e\tf', '=SUM(A1)'];

/** A list of URLs has no titles, so that nothing in it can be refused. */
export function titleOf(
  { title, kind, isOdd }: RowPlan,
  { format }: Pick<UserTraits, 'format'>,
): string {
  if (format === 'urls') return '';
  if (kind === 'refused') return REFUSED_TITLE;
  return (isOdd && ODD_TITLES[title]) || `t${title}`;
}

/** Cells with tags, and the tags that they hold. */
export const TAG_CELLS: readonly (readonly [cell: string, ...tags: string[]])[] = [
  [''],
  ['a', 'a'],
  [' b; ü ,c|d;', 'b', 'ü', 'c', 'd'],
  ['["x, y", "z"]', 'x, y', 'z'],
];

export const REDIRECT_CELLS = ['', '301', '302', '307'] as const;

/** The columns beside target, title and domain that a file may have. */
export function cellsOf(
  { tags = 0, redirect = 0 }: RowPlan,
  { hasTags }: Pick<UserTraits, 'hasTags'>,
): Record<string, string> {
  if (!hasTags) return {};
  return { tags: TAG_CELLS[tags]?.[0] ?? '', redirect_type: REDIRECT_CELLS[redirect] ?? '' };
}

/** All that a row says of its link beside target and domain, as one text. */
export function contentOf(row: RowPlan, user: UserTraits): string {
  const [, ...own] = (user.hasTags && TAG_CELLS[row.tags ?? 0]) || [];
  const tags = own.length > 0 ? own : (user.defaults.tags ?? []);
  const redirect = user.hasTags ? REDIRECT_CELLS[row.redirect ?? 0] : '';
  return contentOfLink({
    title: titleOf(row, user),
    tags: [...new Set([...tags, ...(user.addTags ?? [])])],
    redirect_type: Number(redirect || user.defaults.redirect_type || USUAL_REDIRECT),
  });
}

import {
  type BatchLinkInput,
  MAX_TAG_LENGTH,
  MAX_TAGS,
  MAX_TARGET_URL_LENGTH,
  MAX_TITLE_LENGTH,
  REDIRECT_TYPES,
} from '@shortlink/sdk';
import { shown } from '../errors.ts';
import type { Layout } from '../read/layout.ts';
import { dropFormulaGuard } from '../report/csv-cell.ts';
import type { ImportSettings, Row } from '../types.ts';
import { characterCount, isLongerThan, splitTags, targetProblem, trimmed } from './cells.ts';
import type { ResultColumns } from './result-columns.ts';

/** What the input's rows mean, and which of them can be sent. */
export interface RowRules {
  /** The link that a row stands for, and why it can't be sent, in words that follow "line 7:"; undefined for one that can. */
  check(row: Row): { link: BatchLinkInput; problem: string | undefined };
  /** The link that a row without a problem stands for. */
  link(row: Row): BatchLinkInput;
}

/** The service's rules, since there one bad entry refuses a whole batch. */
export function createRowRules(
  { plan, isOwnFile, resultColumns }: Pick<Layout, 'plan' | 'isOwnFile' | 'resultColumns'>,
  settings: Pick<ImportSettings, 'defaults' | 'addTags' | 'tagSeparator'>,
): RowRules {
  const { columns, mapping, hasHeader } = plan;
  const { defaults, addTags = [], tagSeparator } = settings;
  const isOneColumn = ownWidth(columns, resultColumns) === 1;
  const { tags: defaultTags = [] } = defaults;
  const clean = (cell: string | undefined): string => {
    const text = trimmed(cell ?? '');
    return isOwnFile ? dropFormulaGuard(text) : text;
  };
  const read = (cells: readonly string[], index: number | undefined): string =>
    index === undefined ? '' : clean(cells[index]);

  const tagsOf = (cell: string): readonly string[] | undefined => {
    const ownTags = splitTags(cell, tagSeparator);
    const tags = ownTags.length > 0 ? ownTags : defaultTags;
    if (addTags.length > 0) return [...new Set([...tags, ...addTags])];
    return tags.length > 0 ? tags : undefined;
  };

  const linkOf = (cells: readonly string[]): BatchLinkInput => ({
    target_url: read(cells, mapping.target_url),
    title: read(cells, mapping.title) || undefined,
    tags: tagsOf(read(cells, mapping.tags)),
    // The default domain goes with the request as a whole.
    domain_id: read(cells, mapping.domain_id) || undefined,
    redirect_type: redirectTypeOf(read(cells, mapping.redirect_type)) ?? defaults.redirect_type,
  });

  const cellsProblem = (cells: readonly string[]): string | undefined => {
    if (!hasSurplus(cells, columns.length, isOneColumn)) return undefined;
    const than = hasHeader ? 'the header' : 'the first row';
    return `${cells.length} cells, ${than} has ${columns.length}: is a cell with a delimiter not quoted?`;
  };

  return {
    check({ cells, problem }) {
      const link = linkOf(cells);
      const redirect = read(cells, mapping.redirect_type);
      return {
        link,
        problem: problem ?? cellsProblem(cells) ?? linkProblem(link) ?? redirectProblem(redirect),
      };
    },
    link: (row) => linkOf(row.cells),
  };
}

function linkProblem({ target_url, title, tags, domain_id }: BatchLinkInput): string | undefined {
  const problem = targetProblem(target_url, MAX_TARGET_URL_LENGTH);
  if (problem !== undefined) return problem;
  if (title !== undefined) {
    if (isLongerThan(MAX_TITLE_LENGTH, title)) {
      return `title is ${characterCount(title)} characters long, at most ${MAX_TITLE_LENGTH} are allowed`;
    }
    if (!isCleanText(title)) return `title holds NUL or broken characters: ${shown(title)}`;
  }
  if (domain_id !== undefined && !isCleanText(domain_id)) {
    return 'domain_id holds NUL or broken characters';
  }
  return tags && tagsProblem(tags);
}

function redirectTypeOf(text: string): BatchLinkInput['redirect_type'] {
  return text === '' ? undefined : REDIRECT_TYPES.find((type) => String(type) === text);
}

function redirectProblem(text: string): string | undefined {
  if (text === '' || redirectTypeOf(text) !== undefined) return undefined;
  return `redirect_type ${shown(text)} is not one of ${REDIRECT_TYPES.join(', ')}`;
}

/** Columns without those that an import has added: of its results, or of its rejects. */
function ownWidth(columns: readonly string[], results: ResultColumns): number {
  const rejects = columns.at(-2) === 'line' && columns.at(-1) === 'reason' ? 2 : 0;
  return columns.length - rejects - Object.keys(results).length;
}

/**
 * Cells beyond the last column, other than the empty ones that spreadsheets add. A table of one column gets none of those: there
 * the URL itself ends with a delimiter.
 */
function hasSurplus(cells: readonly string[], width: number, isOneColumn: boolean): boolean {
  if (isOneColumn) return cells.length > width;
  for (let index = width; index < cells.length; index += 1) {
    if (cells[index] !== '') return true;
  }
  return false;
}

function tagsProblem(tags: readonly string[]): string | undefined {
  if (tags.length > MAX_TAGS) return `${tags.length} tags, at most ${MAX_TAGS} are allowed`;
  for (const tag of tags) {
    if (isLongerThan(MAX_TAG_LENGTH, tag)) {
      return `tag ${shown(tag)} is ${characterCount(tag)} characters long, at most ${MAX_TAG_LENGTH} are allowed`;
    }
    if (!isCleanText(tag)) return `tag ${shown(tag)} holds NUL or broken characters`;
  }
  return undefined;
}

/** The service can't store NUL or half of a surrogate pair and give it back. */
function isCleanText(text: string): boolean {
  return text.isWellFormed() && !text.includes('\0');
}

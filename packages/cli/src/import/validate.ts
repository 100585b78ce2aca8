import {
  type BatchLinkInput,
  MAX_TAG_LENGTH,
  MAX_TAGS,
  MAX_TARGET_URL_LENGTH,
  MAX_TITLE_LENGTH,
  REDIRECT_TYPES,
} from '@shortlink/sdk';
import { dropFormulaGuard } from './csv-cell.ts';
import type { Layout } from './detect.ts';
import { shown } from './input-error.ts';
import { splitTags } from './tags.ts';
import { targetProblem } from './target-url.ts';
import type { ImportSettings, Row } from './types.ts';

/** A row as the link to create, or why it can't be one, in words that follow "line 7:". */
export type CheckedRow = BatchLinkInput | string;

/**
 * Makes the function that turns rows into links. Its rules are the service's (DESIGN section 2), since there one bad
 * entry refuses a whole batch.
 */
export function createRowCheck(
  layout: Pick<Layout, 'plan' | 'tagSeparator' | 'isRejectsFile'>,
  defaults: Pick<ImportSettings['defaults'], 'tags' | 'redirect_type'>,
): (row: Row) => CheckedRow {
  const { columns, mapping, hasHeader } = layout.plan;
  const { tagSeparator, isRejectsFile } = layout;
  const cellOf = (row: Row, index: number | undefined): string => {
    const cell = index === undefined ? '' : (row.cells[index]?.trim() ?? '');
    return isRejectsFile ? dropFormulaGuard(cell) : cell;
  };

  return (row) => {
    if (row.problem !== undefined) return row.problem;
    if (hasSurplus(row.cells, columns.length)) {
      const than = hasHeader ? 'the header' : 'the first row';
      return `${row.cells.length} cells, ${than} has ${columns.length}: is a cell with a delimiter not quoted?`;
    }
    const target_url = cellOf(row, mapping.target_url);
    const problem = targetProblem(target_url, MAX_TARGET_URL_LENGTH);
    if (problem !== undefined) return problem;

    const link: BatchLinkInput = { target_url };
    const title = cellOf(row, mapping.title);
    if (title !== '') {
      if (title.length > MAX_TITLE_LENGTH) {
        return `title is ${title.length} characters long, at most ${MAX_TITLE_LENGTH} are allowed`;
      }
      if (!isCleanText(title)) return `title holds NUL or broken characters: ${shown(title)}`;
      link.title = title;
    }
    const tags = splitTags(cellOf(row, mapping.tags), tagSeparator);
    if (tags.length > 0) {
      const tagProblem = tagsProblem(tags);
      if (tagProblem !== undefined) return tagProblem;
      link.tags = tags;
    } else if (defaults.tags !== undefined && defaults.tags.length > 0) {
      link.tags = defaults.tags;
    }
    // The default domain goes with the request as a whole.
    const domain_id = cellOf(row, mapping.domain_id);
    if (domain_id !== '') {
      if (!isCleanText(domain_id)) return 'domain_id holds NUL or broken characters';
      link.domain_id = domain_id;
    }
    const redirect = cellOf(row, mapping.redirect_type);
    const redirect_type =
      redirect === ''
        ? defaults.redirect_type
        : REDIRECT_TYPES.find((type) => String(type) === redirect);
    if (redirect_type !== undefined) link.redirect_type = redirect_type;
    else if (redirect !== '') {
      return `redirect_type ${shown(redirect)} is not one of ${REDIRECT_TYPES.join(', ')}`;
    }
    return link;
  };
}

/** Cells beyond the last column, other than the empty ones that spreadsheets add. */
function hasSurplus(cells: readonly string[], width: number): boolean {
  for (let index = width; index < cells.length; index += 1) {
    if (cells[index] !== '') return true;
  }
  return false;
}

function tagsProblem(tags: readonly string[]): string | undefined {
  if (tags.length > MAX_TAGS) return `${tags.length} tags, at most ${MAX_TAGS} are allowed`;
  for (const tag of tags) {
    if (tag.length > MAX_TAG_LENGTH) {
      return `tag ${shown(tag)} is ${tag.length} characters long, at most ${MAX_TAG_LENGTH} are allowed`;
    }
    if (!isCleanText(tag)) return `tag ${shown(tag)} holds NUL or broken characters`;
  }
  return undefined;
}

/** What the service can't store and give back: NUL, and half of a surrogate pair. */
const BROKEN_TEXT = /\0|\p{Surrogate}/u;

function isCleanText(text: string): boolean {
  return !BROKEN_TEXT.test(text);
}

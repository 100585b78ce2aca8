import {
  type CreateLinkBody,
  MAX_TAG_LENGTH,
  MAX_TAGS,
  MAX_TITLE_LENGTH,
  REDIRECT_TYPES,
} from '@shortlink/sdk';
import {
  cleanTags,
  isNested,
  isTextList,
  looksLikeUrl,
  splitTags,
  toCell,
  trimmed,
} from '@shortlink/tables';
import { dropFormulaGuard, type Plan, type Row, shown } from '@shortlink/tables/basics';
import type { Layout } from '../layout.ts';
import type { ImportSettings } from '../types.ts';
import { rowMapping } from './map-keys.ts';
import { strayText } from './result-columns.ts';
import { characterCount, isLongerThan, targetProblem } from './target-problem.ts';

export interface RowRules {
  /** The link that a row stands for, and why it can't be sent, in words that follow "line 7:". */
  check(row: Row): { link: CreateLinkBody; problem: string | undefined };
  /** The link of a row without a problem. */
  link(row: Row): CreateLinkBody;
}

/** The service's rules, since there one bad entry refuses a whole batch. */
export function createRowRules(
  layout: Pick<Layout, 'plan' | 'isOwnFile' | 'isRejects' | 'resultColumns'>,
  settings: Pick<ImportSettings, 'defaults' | 'addTags' | 'tagSeparator'> &
    Partial<Pick<ImportSettings, 'inPlace' | 'map'>>,
  /** See {@link rowMapping}. */
  isOfLines = false,
): RowRules {
  const { plan, isOwnFile } = layout;
  const { defaults, addTags = [], tagSeparator } = settings;
  const meaningOf = rowMapping(layout, settings.map, isOfLines);
  const isJsonl = plan.format === 'jsonl';
  const placeProblem = isJsonl ? keyRule(layout, settings.inPlace === true) : cellRule(layout);
  const { tags: defaultTags = [] } = defaults;
  const clean = (cell: string | undefined): string => {
    const text = trimmed(cell ?? '');
    return isOwnFile ? dropFormulaGuard(text) : text;
  };
  const read = (values: Values, index: number | undefined): string =>
    clean(toCell(valueAt(values, index, plan)));

  const tagsOf = (values: Values, index: number | undefined): readonly string[] | undefined => {
    const value = valueAt(values, index, plan);
    const ownTags = isTextList(value)
      ? cleanTags(value)
      : splitTags(clean(toCell(value)), tagSeparator);
    const tags = ownTags.length > 0 ? ownTags : defaultTags;
    if (addTags.length > 0) return [...new Set([...tags, ...addTags])];
    return tags.length > 0 ? tags : undefined;
  };

  const linkOf = (values: Values, mapping: Plan['mapping']): CreateLinkBody => ({
    target_url: read(values, mapping.target_url),
    title: read(values, mapping.title) || undefined,
    tags: tagsOf(values, mapping.tags),
    // The default domain goes with the request as a whole.
    domain_id: read(values, mapping.domain_id) || undefined,
    redirect_type: redirectTypeOf(read(values, mapping.redirect_type)) ?? defaults.redirect_type,
  });

  return {
    check(row) {
      const { mapping, problem } = meaningOf(row);
      const values = row.object ?? row.cells;
      const link = linkOf(values, mapping);
      return {
        link,
        problem:
          row.problem ??
          problem ??
          placeProblem(row, values) ??
          nestedProblem(values, mapping, plan) ??
          linkProblem(link, row) ??
          redirectProblem(read(values, mapping.redirect_type)),
      };
    },
    link: (row) => linkOf(row.object ?? row.cells, meaningOf(row).mapping),
  };
}

/** A row of a table as its cells, a line of JSON as its object: writing its values as cells would cost more than reading it. */
type Values = Row['cells'] | NonNullable<Row['object']>;

function valueAt(values: Values, index: number | undefined, { columns }: Plan): unknown {
  if (index === undefined) return null;
  if (isCells(values)) return values[index] ?? null;
  const key = columns[index] ?? '';
  return Object.hasOwn(values, key) ? values[key] : null;
}

function isCells(values: Values): values is Row['cells'] {
  return Array.isArray(values);
}

const TOTAL =
  /^(?:(?:grand |sub ?)?totals?|sum|(?:zwischen|gesamt)?summe|gesamt|insgesamt|totale?s?|somme|suma)[\s:]*$/i;

/** Spreadsheets have a row of sums below a table. */
function totalProblem({ cells, isSum }: Row, target: string): string | undefined {
  if (looksLikeUrl(target)) return undefined;
  const total = cells.find((cell) => TOTAL.test(cell.trim()));
  if (total === undefined && isSum !== true) return undefined;
  return `no link, but a total row${total === undefined ? '' : ` (${shown(total)})`}: take it out, or end the table above it`;
}

function linkProblem(link: CreateLinkBody, row: Row): string | undefined {
  const { target_url, title, tags, domain_id } = link;
  const problem = targetProblem(target_url);
  if (problem !== undefined) return totalProblem(row, target_url) ?? problem;
  return (
    textProblem('title', title, MAX_TITLE_LENGTH) ??
    textProblem('domain_id', domain_id, Number.POSITIVE_INFINITY) ??
    tagsProblem(tags)
  );
}

/** An object in JSON where text belongs would become text that nobody wrote. */
function nestedProblem(values: Values, mapping: Plan['mapping'], plan: Plan): string | undefined {
  if (isCells(values)) return undefined;
  for (const field of ['title', 'tags'] as const) {
    const value = valueAt(values, mapping[field], plan);
    const items = field === 'tags' && Array.isArray(value) ? value : [value];
    if (!items.some(isNested)) continue;
    const what = field === 'title' ? 'title is not text' : 'tags are not a list of texts';
    return `${what}: ${shown(JSON.stringify(value))}`;
  }
  return undefined;
}

function redirectTypeOf(text: string): CreateLinkBody['redirect_type'] {
  return text === '' ? undefined : REDIRECT_TYPES.find((type) => String(type) === text);
}

function redirectProblem(text: string): string | undefined {
  if (text === '' || redirectTypeOf(text) !== undefined) return undefined;
  return `redirect_type ${shown(text)} is not one of ${REDIRECT_TYPES.join(', ')}`;
}

type PlaceRule = (row: Row, values: Values) => string | undefined;

/** In place, a key of the user's own with the name of a result would be replaced. */
function keyRule(layout: Pick<Layout, 'resultColumns'>, inPlace: boolean): PlaceRule {
  return (row) => {
    const stray = inPlace ? strayText(row, layout) : undefined;
    return stray && `${shown(stray)} stands in a key that the import fills: give it another name`;
  };
}

/**
 * Tells rows with more cells than columns, other than the empty ones that spreadsheets add: the columns of rejects and of results would take
 * them in. A table of one column gets no empty cells: there the URL itself ends with a delimiter.
 */
function cellRule(layout: Pick<Layout, 'plan' | 'isRejects' | 'resultColumns'>): PlaceRule {
  const { isRejects, resultColumns } = layout;
  const { columns, hasHeader } = layout.plan;
  const width = columns.length;
  const isFilled = resultColumns.status !== undefined;
  const isOneColumn = width - (isRejects ? 2 : 0) - Object.keys(resultColumns).length === 1;
  // Spreadsheets leave the last cell out where it is empty: the error of a link.
  const lacksLast = (cells: readonly string[]) => cells.length === width - 1 && isFilled;
  const isOdd = (cells: readonly string[]) => {
    const { length } = cells;
    const isCut = length > 1 && length < width && !lacksLast(cells);
    if (isOneColumn && (length > width || isCut)) return true;
    return length > width && cells.slice(width).some((cell) => cell !== '');
  };
  const misplaced = (row: Row, cells: readonly string[]) => {
    const stray = strayText(row, layout);
    if (stray !== undefined) return `${shown(stray)} stands in a column that the import fills`;
    if (isOdd(cells)) {
      return `${cells.length} cells, ${hasHeader ? 'the header' : 'the first row'} has ${width}`;
    }
    const line = isRejects ? (cells[width - 2] ?? '') : '';
    return /^\d*$/.test(line) ? undefined : `${shown(line)} stands in the column of line numbers`;
  };
  return (row, values) => {
    const what = misplaced(row, isCells(values) ? values : row.cells);
    return what && `${what}: is a cell with a delimiter not quoted?`;
  };
}

const tagProblem = (tag?: string) => textProblem('tag', tag, MAX_TAG_LENGTH);
function tagsProblem(tags: readonly string[] = []): string | undefined {
  if (tags.length > MAX_TAGS) return `${tags.length} tags, at most ${MAX_TAGS} are allowed`;
  return tagProblem(tags.find(tagProblem));
}

/** What spreadsheets show where a formula has failed. An import can't correct the title of a link. */
const FAILED = /^#(?:N\/A|REF!|VALUE!|NAME\?|DIV\/0!|NUM!|NULL!|ERROR!)$/;

function textProblem(field: string, text = '', max: number): string | undefined {
  let problem: string | undefined;
  if (isLongerThan(max, text))
    problem = `is ${characterCount(text)} characters long, at most ${max} are allowed`;
  else if (text.startsWith('#') && FAILED.test(text))
    problem = 'is a failed formula: correct it, or clear the cell';
  // The service can't store NUL or half of a surrogate pair and give it back.
  else if (!text.isWellFormed() || text.includes('\0')) problem = 'holds NUL or broken characters';
  return problem && `${field} ${shown(text)} ${problem}`;
}

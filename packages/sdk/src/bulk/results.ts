import type { BatchResultItem } from '../wire/batch.ts';
import { type CreateLinkBody, type LinkInput, pickLinkFields } from '../wire/link.ts';
import type { Batch, Entry } from './batch-plan.ts';
import { openEntries } from './batch-request.ts';
import type { BulkItem, RecordedResult } from './create-many.ts';

/** Outcome of the links that have no result of their own. */
export type MissingOutcome = Omit<Extract<BulkItem, { error: string }>, 'index' | 'input'>;

const NO_RESULT = 'The response has no result for this link';

/** The outcome of an entry, by its result. `missing` is for one whose result says nothing. */
export function itemOf<T extends LinkInput>(
  { index, input, refused }: Entry<T>,
  { code, short_url, error }: RecordedResult = {},
  missing: MissingOutcome = { outcome: 'unknown', error: NO_RESULT },
): BulkItem<T> {
  if (refused !== undefined) return { index, input, outcome: 'failed', ...refused };
  // A link that has its code exists, whatever else the service says about it.
  if (code && short_url) return { index, input, outcome: 'created', code, short_url };
  return error ? { index, input, outcome: 'failed', error } : { index, input, ...missing };
}

/**
 * One result per link of a batch: the errors of refused entries, and `results` for the others. `missing` is the error of links
 * without a result, where all others have theirs; with `isBegun` the results are those of the first links.
 */
export function resultsOf(
  batch: Batch<LinkInput>,
  results: readonly RecordedResult[],
  { missing, isBegun }: { missing?: string | undefined; isBegun?: boolean } = {},
): readonly BatchResultItem[] {
  const sent = openEntries(batch);
  let all = alignResults(sent, results, isBegun);
  if (missing !== undefined) {
    const isMissing = ({ code, error }: BatchResultItem) => code === undefined && !error;
    // When some results match no link, a link without a result may be one that the service spells otherwise.
    if (all.filter(isMissing).length === all.length - results.length) {
      all = all.map((item) => (isMissing(item) ? { ...item, error: missing } : item));
    }
  }
  if (sent.length === batch.length) return all;
  const taken = all.values();
  return batch.map(({ target_url, refused }) =>
    refused ? { target_url, error: refused.error } : (taken.next().value ?? { target_url }),
  );
}

/**
 * One result per link, in the order in which they were sent. A result belongs to the link at its position, since some services
 * print the target URL in their own way, unless its target URL is that of another link. Then, and where the number of results is
 * wrong, results are matched by target URL only: a link with the code of another would be worse than one with none. A link
 * without a result gets one that has neither `code` nor `error`. With `isBegun` the results are those of the first links.
 */
export function alignResults(
  links: readonly (CreateLinkBody | Entry<LinkInput>)[],
  results: readonly RecordedResult[],
  isBegun = false,
): readonly BatchResultItem[] {
  const targets = links.map(({ target_url }) => target_url);
  // Behind a missing result, all others have moved.
  const isInStep = targets.length === results.length;
  const isInPlace = (result: RecordedResult, index: number): result is BatchResultItem =>
    result.target_url === targets[index];
  // The usual case, which needs no copy.
  const areInPlace = results.every(isInPlace);
  if (isInStep && areInPlace) return results;
  if (isBegun && areInPlace) {
    return targets.map((target_url, index) =>
      results[index]?.code ? { ...results[index], target_url } : { target_url },
    );
  }
  const resultOf = new Map<number, RecordedResult>();
  const unused = new Set(results.keys());
  const pair = (index: number, position = -1) => {
    const result = results[position];
    if (result !== undefined && unused.delete(position)) resultOf.set(index, result);
  };
  /** Whether a result belongs to a link at another position. */
  let isMixed = false;
  const urls = results.map(({ target_url = '' }) => target_url);
  const known = new Set(targets.map(loosely));
  const isElsewhere = (url: string, n: number) =>
    known.has(loosely(url)) && loosely(url) !== loosely(targets[n] ?? '');
  const isOrdered = isInStep && !urls.some(isElsewhere);
  // Each spelling takes only what the ones before left over.
  for (const spell of [(url: string) => url, loosely]) {
    const positionsOf = positionsByUrl(urls, spell);
    for (const [url, indexes] of positionsByUrl(targets, spell)) {
      const positions = positionsOf.get(url) ?? [];
      const isComplete = isOrdered || indexes.length === positions.length;
      const areAlike = isComplete || alike(indexes.flatMap((index) => links[index] ?? []));
      for (const index of isInStep && areAlike ? indexes : []) {
        if (!resultOf.has(index) && spell(urls[index] ?? '') === url) pair(index, index);
      }
      const usable = isComplete ? positions : certain(results, positions, indexes.length, areAlike);
      const left = usable.filter((position) => unused.has(position));
      const open = indexes.filter((index) => !resultOf.has(index));
      isMixed ||= left.length > 0 && open.length > 0;
      for (const [n, index] of open.entries()) pair(index, left[n]);
    }
  }
  // Where no result that is left has the URL of a link, each belongs to the link at its position.
  if (isInStep && !isMixed && ![...unused].some((n) => known.has(loosely(urls[n] ?? '')))) {
    for (const position of unused) pair(position, position);
  }
  return targets.map((target_url, index) => ({ ...resultOf.get(index), target_url }));
}

/**
 * The results that certainly belong to links of one URL in some spelling, where there are fewer or more results than links.
 * - The links differ: none, because each result may be that of another one.
 * - Results are missing: only those with a code, because it is not known which of the links were refused.
 * - There are too many: those with a code first. The rest are errors of links that were left out before.
 */
function certain(
  results: readonly RecordedResult[],
  positions: readonly number[],
  links: number,
  areAlike: boolean,
): readonly number[] {
  if (!areAlike) return [];
  const isCreated = (position: number) => results[position]?.code;
  const created = positions.filter(isCreated);
  return links > positions.length ? created : [...new Set([...created, ...positions])];
}

/** Whether it makes no difference which of these links has which code. An input that is shared or has changed says nothing. */
function alike(links: readonly (CreateLinkBody | Entry<LinkInput>)[]): boolean {
  const inputs = links.map((link) => ('input' in link ? link.input : link));
  try {
    const sent = inputs.map((input) => pickLinkFields(input));
    return (
      new Set(inputs).size === links.length &&
      sent.every(({ target_url }, n) => target_url === links[n]?.target_url) &&
      new Set(sent.map((link) => JSON.stringify(link))).size === 1
    );
  } catch {
    return false;
  }
}

/** The positions of each URL that is not empty. */
function positionsByUrl(urls: readonly string[], spell: (url: string) => string) {
  const groups = new Map<string, number[]>();
  for (const [position, url] of urls.entries()) {
    if (!url) continue;
    const group = groups.get(spell(url)) ?? [];
    groups.set(spell(url), group);
    group.push(position);
  }
  return groups;
}

/** What is left of a URL after the changes that services make to it: its parser's spelling, no fragment, no `/` at its end. */
function loosely(url: string): string {
  if (!URL.canParse(url)) return url;
  const { origin, pathname, search } = new URL(url);
  return origin + pathname.replace(/\/+$/, '') + search;
}

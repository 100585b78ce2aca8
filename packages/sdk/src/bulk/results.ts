import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { BatchResultItem } from '../wire/batch.ts';
import type { Job } from '../wire/job.ts';
import { type LinkInput, targetOf } from '../wire/link.ts';
import type { Batch } from './order.ts';
import type { BulkItem, RecordedResult } from './types.ts';

/** What became of one link, without its position and input. */
export type ItemOutcome = BulkItem extends infer Item
  ? Item extends BulkItem
    ? Omit<Item, 'index' | 'input'>
    : never
  : never;

/** A batch whose links all have an outcome. Outcomes are made as they are yielded: a batch may have 10,000. */
export interface SettledBatch<T extends LinkInput> {
  first: number;
  inputs: readonly T[];
  outcome: (offset: number) => ItemOutcome;
}

/** Outcome of a link that has no result in the response. */
const NO_RESULT = {
  outcome: 'unknown',
  error: 'The response has no result for this link',
} as const;

/** Outcome of the links that have no result of their own. */
export interface MissingOutcome {
  outcome: 'failed' | 'unknown';
  error: string;
  cause?: ShortlinkError;
}

/** Outcome of a link by its own result; `missing` is for a link that has none. */
export function outcomeOfResult(
  result: BatchResultItem | undefined,
  missing: MissingOutcome = NO_RESULT,
): ItemOutcome {
  // A link that has its code exists, whatever else the service says about it.
  if (result?.code && result.short_url) {
    return { outcome: 'created', code: result.code, short_url: result.short_url };
  }
  if (result?.error) return { outcome: 'failed', error: result.error };
  return missing;
}

/**
 * One result per link of a batch: the errors of the entries that the service refused, and `results` for those that it took.
 *
 * @param missing the error of links that have no result, where all other links have theirs
 */
export function resultsOf(
  { first, inputs, refused }: Batch<LinkInput>,
  results: Job['results'],
  missing?: string,
): readonly BatchResultItem[] {
  const isSent = (_: unknown, offset: number) => !refused.has(first + offset);
  const sent = refused.size === 0 ? inputs : inputs.filter(isSent);
  let all = alignResults(sent, results);
  if (missing !== undefined) {
    const isMissing = ({ code, error }: BatchResultItem) => code === undefined && !error;
    // When some results match no link, a link without a result may be one that the service spells otherwise.
    if (all.filter(isMissing).length === all.length - results.length) {
      all = all.map((item) => (isMissing(item) ? { ...item, error: missing } : item));
    }
  }
  if (sent.length === inputs.length) return all;
  let place = 0;
  return inputs.map((input, offset) => {
    const target_url = targetOf(input);
    const error = refused.get(first + offset)?.error;
    return error === undefined ? (all[place++] ?? { target_url }) : { target_url, error };
  });
}

/**
 * One result per link, in the order of `links`. Services respond in that order, and some print the target URL in their own
 * way, so that a result belongs to the link at its position unless its target URL is that of another link. Then, and where
 * the number of results is wrong, results are matched by target URL only: a link with the code of another link would be
 * worse than a link with none. A link without a result gets one that has neither `code` nor `error`.
 */
export function alignResults(
  links: readonly LinkInput[],
  results: readonly RecordedResult[],
): readonly BatchResultItem[] {
  if (areAllInPlace(links, results)) return results;
  const resultOf = new Map<number, RecordedResult>();
  const unused = new Set(results.keys());
  const pair = (index: number, position = -1) => {
    const result = results[position];
    if (result !== undefined && unused.delete(position)) resultOf.set(index, result);
  };
  // Where the number of results is wrong, positions say nothing, because those behind a missing result have moved.
  const isInStep = links.length === results.length;
  /** Whether a result belongs to a link at another position. */
  let isMixed = false;
  // Each spelling takes only what the ones before left over.
  for (const spell of [(url: string) => url, loosely]) {
    const positionsOf = byUrl(results, spell);
    for (const [url, indexes] of byUrl(links, spell)) {
      const positions = positionsOf.get(url) ?? [];
      const places = new Set(isInStep ? positions : []);
      for (const index of indexes) {
        if (places.has(index) && !resultOf.has(index)) pair(index, index);
      }
      const isComplete = isInStep || indexes.length === positions.length;
      const usable = isComplete ? positions : certain(links, results, indexes, positions);
      const left = usable.filter((position) => unused.has(position));
      const open = indexes.filter((index) => !resultOf.has(index));
      isMixed ||= left.length > 0 && open.length > 0;
      for (const [n, index] of open.entries()) pair(index, left[n]);
    }
  }
  // Where no result that is left has the URL of a link, each belongs to the link at its position.
  const urls = new Set(links.map((link) => loosely(targetOf(link))));
  const isOfALink = (position: number) => urls.has(loosely(results[position]?.target_url ?? ''));
  if (isInStep && !isMixed && ![...unused].some(isOfALink)) {
    for (const position of unused) pair(position, position);
  }
  return links.map((link, index) => ({ ...resultOf.get(index), target_url: targetOf(link) }));
}

/** The usual case, which needs no copy. */
function areAllInPlace(
  links: readonly LinkInput[],
  results: readonly RecordedResult[],
): results is readonly BatchResultItem[] {
  return (
    links.length === results.length &&
    links.every((link, index) => targetOf(link) === results[index]?.target_url)
  );
}

/**
 * The results that certainly belong to these links, which have one URL in some spelling, where there are fewer or more results than links.
 * - The links differ by domain or spelling: none, because each result may be that of another one.
 * - Results are missing: only those with a code, because it is not known which of the links were refused.
 * - There are too many: those with a code first. The caller has left out links that were refused, and their errors are the rest.
 */
function certain(
  links: readonly LinkInput[],
  results: readonly RecordedResult[],
  indexes: readonly number[],
  positions: readonly number[],
): readonly number[] {
  const kinds = indexes.map(
    (index) => `${links[index]?.domain_id ?? ''} ${links[index]?.target_url}`,
  );
  if (new Set(kinds).size > 1) return [];
  const isCreated = (position: number) => results[position]?.code;
  const created = positions.filter(isCreated);
  if (indexes.length > positions.length) return created;
  return [...created, ...positions.filter((position) => !isCreated(position))];
}

/** The positions of each URL. */
function byUrl(
  items: readonly { target_url?: string | URL | undefined }[],
  keyOf: (url: string) => string,
): Map<string, number[]> {
  const groups = new Map<string, number[]>();
  for (const [position, { target_url }] of items.entries()) {
    if (!target_url) continue;
    const key = keyOf(String(target_url));
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [position]);
    else group.push(position);
  }
  return groups;
}

/** What is left of a URL after the changes that services make to it: its parser's spelling, no fragment, no `/` at its end. */
function loosely(url: string): string {
  if (!URL.canParse(url)) return url;
  const { origin, pathname, search } = new URL(url);
  return origin + pathname.replace(/\/+$/, '') + search;
}

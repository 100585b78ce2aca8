import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { BatchLinkInput, BatchResultItem } from '../wire/batch.ts';
import type { BulkItem, RecordedResult } from './types.ts';

/** What became of one link, without its position and input. */
export type ItemOutcome = BulkItem extends infer Item
  ? Item extends BulkItem
    ? Omit<Item, 'index' | 'input'>
    : never
  : never;

/** A batch whose links all have an outcome. Outcomes are made as they are yielded: a batch may have 10,000. */
export interface SettledBatch<T extends BatchLinkInput> {
  first: number;
  inputs: readonly T[];
  outcome: (offset: number) => ItemOutcome;
}

/** Outcome of a link that has no result in the response. */
const NO_RESULT = {
  outcome: 'unknown',
  error: 'The response of the service has no result for this link',
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
 * One result per link, in the order of `links`. Services respond in that order, and some print the target URL in their own
 * way, so that a result belongs to the link at its position unless its target URL is that of another link. Then, and where
 * the number of results is wrong, results are matched by target URL only: a link with the code of another link would be
 * worse than a link with none. A link without a result gets one that has neither `code` nor `error`.
 */
export function alignResults(
  links: readonly BatchLinkInput[],
  results: readonly RecordedResult[],
): readonly BatchResultItem[] {
  if (areAllInPlace(links, results)) return results;
  const matcher = new Matcher(links, results);
  matcher.matchInPlace(exactly);
  matcher.matchElsewhere(exactly);
  matcher.matchInPlace(loosely);
  matcher.matchElsewhere(loosely);
  if (links.length === results.length) matcher.matchRest();
  return links.map(({ target_url }, index) => ({ ...matcher.resultOf(index), target_url }));
}

/** The usual case, which needs no copy. */
function areAllInPlace(
  links: readonly BatchLinkInput[],
  results: readonly RecordedResult[],
): results is readonly BatchResultItem[] {
  return (
    links.length === results.length &&
    links.every((link, index) => link.target_url === results[index]?.target_url)
  );
}

/** Pairs links with results. Each pairing takes only what earlier ones left over. */
class Matcher {
  readonly #links: readonly BatchLinkInput[];
  readonly #results: readonly RecordedResult[];
  readonly #resultOf = new Map<number, RecordedResult>();
  readonly #unused: Set<number>;
  /** Whether a result belongs to a link at another position. */
  #isMixed = false;

  constructor(links: readonly BatchLinkInput[], results: readonly RecordedResult[]) {
    this.#links = links;
    this.#results = results;
    this.#unused = new Set(results.keys());
  }

  resultOf(index: number): RecordedResult | undefined {
    return this.#resultOf.get(index);
  }

  matchInPlace(keyOf: (url: string) => string): void {
    const uneven = this.#uneven(keyOf);
    for (const position of this.#unused) {
      const link = this.#links[position];
      const url = this.#results[position]?.target_url;
      if (link === undefined || !url || this.#resultOf.has(position)) continue;
      const key = keyOf(link.target_url);
      if (keyOf(url) === key && !uneven.has(key)) this.#pair(position, position);
    }
  }

  matchElsewhere(keyOf: (url: string) => string): void {
    const strays = new Map<string, number[]>();
    for (const position of this.#unused) {
      const url = this.#results[position]?.target_url;
      if (!url) continue;
      const same = strays.get(keyOf(url));
      if (same === undefined) strays.set(keyOf(url), [position]);
      else same.push(position);
    }
    if (strays.size === 0) return;
    const isCreated = (position: number) => Boolean(this.#results[position]?.code);
    for (const [key, kind] of this.#uneven(keyOf)) {
      const same = kind === 'ambiguous' ? [] : (strays.get(key) ?? []);
      const refused = kind === 'more' ? same.filter((position) => !isCreated(position)) : [];
      strays.set(key, [...same.filter(isCreated), ...refused]);
    }
    this.#links.forEach((link, index) => {
      const key = keyOf(link.target_url);
      if (this.#resultOf.has(index)) return;
      const position = strays.get(key)?.shift();
      if (position === undefined) return;
      this.#isMixed = true;
      this.#pair(index, position);
    });
  }

  /** Gives each link that has no result yet the one at its position, where no result belongs to a link elsewhere. */
  matchRest(): void {
    const urls = new Set(this.#links.map(({ target_url }) => loosely(target_url)));
    const isOfALink = (position: number) =>
      urls.has(loosely(this.#results[position]?.target_url ?? ''));
    if (this.#isMixed || [...this.#unused].some(isOfALink)) return;
    for (const position of this.#unused) this.#pair(position, position);
  }

  /**
   * URLs that have another number of results than of links. Links to the same target on the same domain may each have the code of the
   * other. Where there are `more` results, the caller has left out links that it knows to be refused, so that codes come first. Where
   * there are `fewer`, it can't be known which links were refused. Where the links differ in their domain, nothing can be known.
   */
  #uneven(keyOf: (url: string) => string): Map<string, 'more' | 'fewer' | 'ambiguous'> {
    const uneven = new Map<string, 'more' | 'fewer' | 'ambiguous'>();
    if (this.#links.length === this.#results.length) return uneven;
    const missing = new Map<string, number>();
    const kinds = new Map<string, Set<string>>();
    for (const { target_url, domain_id = '' } of this.#links) {
      const key = keyOf(target_url);
      missing.set(key, (missing.get(key) ?? 0) + 1);
      kinds.set(key, (kinds.get(key) ?? new Set()).add(`${domain_id} ${target_url}`));
    }
    for (const { target_url } of this.#results) {
      const key = keyOf(target_url ?? '');
      missing.set(key, (missing.get(key) ?? 0) - 1);
    }
    for (const [key, { size }] of kinds) {
      const count = missing.get(key) ?? 0;
      if (count !== 0) uneven.set(key, size > 1 ? 'ambiguous' : count > 0 ? 'fewer' : 'more');
    }
    return uneven;
  }

  #pair(index: number, position: number): void {
    const result = this.#results[position];
    if (result === undefined) return;
    this.#resultOf.set(index, result);
    this.#unused.delete(position);
  }
}

const exactly = (url: string) => url;

/** What is left of a URL after the changes that services make to it: its parser's spelling, no fragment, no `/` at its end. */
function loosely(url: string): string {
  if (!URL.canParse(url)) return url;
  const { origin, pathname, search } = new URL(url);
  return origin + pathname.replace(/\/+$/, '') + search;
}

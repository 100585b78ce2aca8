import type { RecordedResult } from '@shortlink/sdk';

/**
 * The results of a batch as the journal keeps them: one entry per link. Nearly all short URLs of a service begin alike, so a created link
 * is its code alone where `prefix` and the code are its short URL; else code and short URL; else the error.
 */
export interface PackedResults {
  prefix: string;
  items: readonly PackedItem[];
}

type PackedItem = string | readonly [code: string, short_url: string] | { error: string };

/** What the service said of one link of a batch. */
export type LinkResult =
  | { status: 'created'; code: string; short_url: string }
  | { status: 'failed' | 'unknown'; error: string };

/** Why it is not known what became of a request that was begun. */
export const NO_RESPONSE = 'sent, and the import ended before the response came';

const NO_RESULT = 'the response of the service does not hold this link';

export function packResults(results: readonly (RecordedResult | undefined)[]): PackedResults {
  const prefix = prefixOf(results.find((result) => result?.code !== undefined));
  const items = results.map((result): PackedItem => {
    const { code, short_url, error } = result ?? {};
    if (error) return { error };
    if (code === undefined || short_url === undefined) return { error: '' };
    return short_url === prefix + code ? code : [code, short_url];
  });
  return { prefix, items };
}

/** The result of the link at `index`; `missing` says why there is none. */
export function unpackResult(
  { prefix, items }: PackedResults,
  index: number,
  missing = NO_RESULT,
): LinkResult {
  const item = items[index];
  if (typeof item === 'string') return { status: 'created', code: item, short_url: prefix + item };
  if (item !== undefined && !('error' in item)) {
    const [code, short_url] = item;
    return { status: 'created', code, short_url };
  }
  // An empty error stands for a link that the response left out.
  return item?.error
    ? { status: 'failed', error: item.error }
    : { status: 'unknown', error: missing };
}

function prefixOf(result: RecordedResult | undefined): string {
  const { code = '', short_url = '' } = result ?? {};
  return short_url.endsWith(code) ? short_url.slice(0, short_url.length - code.length) : '';
}

/**
 * One result per link of a job. The service gives them in the order of the links; where they are mixed up or some are missing, a result
 * belongs to the link whose target URL it names, since another link's code would be worse than none. Results that
 * name no target URL are in the order of the links, but only where there are as many of them: a job may leave out links, such as those
 * that were refused before.
 *
 * @param targets - target URLs in the order of the request
 */
export function alignResults(
  targets: readonly string[],
  results: readonly RecordedResult[],
): Array<RecordedResult | undefined> {
  const isWhole = results.length === targets.length;
  const isInPlace = (result: RecordedResult | undefined, index: number) =>
    result !== undefined &&
    (result.target_url ? isSame(result.target_url, targets[index]) : isWhole);
  const misplaced = new Map<string, RecordedResult[]>();
  results.forEach((result, index) => {
    if (!result.target_url || isInPlace(result, index)) return;
    const target = canonical(result.target_url);
    misplaced.set(target, [...(misplaced.get(target) ?? []), result]);
  });
  return targets.map((target, index) => {
    const result = results[index];
    return isInPlace(result, index) ? result : misplaced.get(canonical(target))?.shift();
  });
}

/** Some services give a URL back as a parser writes it, such as with a slash after the host. */
function isSame(returned: string, sent: string | undefined): boolean {
  return returned === sent || (sent !== undefined && canonical(returned) === canonical(sent));
}

function canonical(url: string): string {
  return URL.parse(url)?.href ?? url;
}

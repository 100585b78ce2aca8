import type { RecordedResult } from '@shortlink/sdk';

/**
 * The results of a batch as the journal keeps them: one entry per link. Nearly all short URLs of a service begin alike, so a created link
 * is its code alone where `prefix` and the code are its short URL; else code and short URL; else the error.
 */
export interface PackedResults {
  prefix: string;
  items: readonly PackedItem[];
  /** Why a link without a code and an error is unknown. @default the response left it out */
  missing?: string | undefined;
}

type PackedItem = string | readonly [code: string, short_url: string] | { error: string };

/** What the service said of one link of a batch. */
export type LinkResult =
  | { status: 'created'; code: string; short_url: string }
  | { status: 'failed' | 'unknown'; error: string };

/** Why it is not known what became of a request that was begun. */
export const NO_RESPONSE = 'sent, and the import ended before the response came';

const NO_RESULT = 'the response of the service does not hold this link';

export function packResults(results: readonly RecordedResult[], missing?: string): PackedResults {
  const prefix = prefixOf(results.find(({ code }) => code !== undefined));
  const items = results.map(({ code, short_url, error }): PackedItem => {
    // A link that has its code exists, whatever else the service says about it.
    if (!code || !short_url) return { error: error ?? '' };
    const isUsual =
      short_url.length === prefix.length + code.length &&
      short_url.startsWith(prefix) &&
      short_url.endsWith(code);
    return isUsual ? code : [code, short_url];
  });
  return { prefix, items, missing };
}

/** The status of the link at `index`, for those who need no more: most of a result is text that would have to be put together. */
export function statusOf({ items }: PackedResults, index: number): LinkResult['status'] {
  const item = items[index];
  if (typeof item === 'string' || (item && !('error' in item))) return 'created';
  // An empty error stands for a link that the response left out.
  return item?.error ? 'failed' : 'unknown';
}

/** The result of the link at `index`. */
export function unpackResult(
  { prefix, items, missing = NO_RESULT }: PackedResults,
  index: number,
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

/** Link text, code, short URL and error of the links that exist or may exist; failed ones are sent again, so nothing is kept of them. */
export function completedRows(
  links: readonly string[],
  results: PackedResults,
): (string | null)[][] {
  return links.flatMap((link, index) => {
    const result = unpackResult(results, index);
    if (result.status === 'created') return [[link, result.code, result.short_url, null]];
    return result.status === 'unknown' ? [[link, null, null, result.error]] : [];
  });
}

function prefixOf(result: RecordedResult | undefined): string {
  const { code = '', short_url = '' } = result ?? {};
  return short_url.endsWith(code) ? short_url.slice(0, short_url.length - code.length) : '';
}

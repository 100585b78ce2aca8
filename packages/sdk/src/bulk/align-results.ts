import type { BatchLinkInput, BatchResultItem } from '../wire/batch.ts';
import type { RecordedResult } from './types.ts';

/**
 * One result per link, in the order of `links`. The service answers in that order; where an answer is shorter or
 * mixed up, results are matched by their target URL, since a link with another link's code would be worse than a link
 * with none. A link without a result gets one that has neither `code` nor `error`.
 */
export function alignResults(
  links: readonly BatchLinkInput[],
  results: readonly RecordedResult[],
): readonly BatchResultItem[] {
  if (areAllInPlace(links, results)) return results;
  const strays = straysByTarget(links, results);
  return links.map((link, index) => {
    const result = results[index];
    if (isExactlyOf(link, result)) return result;
    if (result !== undefined && isOf(link, result)) {
      return { ...result, target_url: link.target_url };
    }
    const stray = strays.get(canonical(link.target_url))?.shift();
    return { ...stray, target_url: link.target_url };
  });
}

/** The usual case, which needs no copy. */
function areAllInPlace(
  links: readonly BatchLinkInput[],
  results: readonly RecordedResult[],
): results is readonly BatchResultItem[] {
  return (
    links.length === results.length &&
    links.every((link, index) => isExactlyOf(link, results[index]))
  );
}

/** Results that are not at their link's place. */
function straysByTarget(
  links: readonly BatchLinkInput[],
  results: readonly RecordedResult[],
): Map<string, RecordedResult[]> {
  const strays = new Map<string, RecordedResult[]>();
  results.forEach((result, index) => {
    const link = links[index];
    if (result.target_url === undefined || (link !== undefined && isOf(link, result))) return;
    const target = canonical(result.target_url);
    const sameTarget = strays.get(target);
    if (sameTarget === undefined) strays.set(target, [result]);
    else sameTarget.push(result);
  });
  return strays;
}

function isExactlyOf(
  link: BatchLinkInput,
  result: RecordedResult | undefined,
): result is BatchResultItem {
  return result?.target_url === link.target_url;
}

/** A recorded result may have no target URL; then its place says whose it is. */
function isOf(link: BatchLinkInput, result: RecordedResult): boolean {
  if (result.target_url === undefined || result.target_url === link.target_url) return true;
  return canonical(result.target_url) === canonical(link.target_url);
}

/** A service may answer with the URL as its parser prints it, such as with the `/` that an empty path stands for. */
function canonical(url: string): string {
  return URL.canParse(url) ? new URL(url).href : url;
}

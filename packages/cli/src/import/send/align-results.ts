import type { RecordedResult } from '@shortlink/sdk';

/**
 * One result per link of a job. The service gives them in the order of the links; where they are mixed up or some are missing, a result
 * belongs to the link whose target URL it names, since another link's code would be worse than none.
 *
 * @param targets - target URLs in the order of the request
 */
export function alignResults(
  targets: readonly string[],
  results: readonly RecordedResult[],
): Array<RecordedResult | undefined> {
  const isInPlace = (result: RecordedResult | undefined, index: number) =>
    result !== undefined &&
    (result.target_url === undefined || isSame(result.target_url, targets[index]));
  const misplaced = new Map<string, RecordedResult[]>();
  results.forEach((result, index) => {
    if (result.target_url === undefined || isInPlace(result, index)) return;
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

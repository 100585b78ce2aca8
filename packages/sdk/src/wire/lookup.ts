import { type Link, link, readLink, type Sent } from './link.ts';
import { type Data, isObject, type Read, type ResponseBody } from './shape.ts';

/** The most entries of one look-up, whatever the plan's batch size is. */
export const MAX_LOOKUP_ENTRIES = 10_000;

/** A target to look up, with its domain. Other fields are not sent, so a `Link` or a row of your own fits. */
export interface LookupInput {
  /** Destination URL, exactly as it was sent when the links were created; a `URL` counts as its `href`. */
  target_url: string | URL;
  /** Custom domain of the links. @default the service's own domain, and no other one */
  domain_id?: string | null | undefined;
  /** Id of the last link that an earlier result had for this entry: only links after it are found. */
  after?: string | null | undefined;
}

/** One entry of a look-up by target: which links of the account lead there? */
export type LookupTarget = Sent<LookupInput>;

/** Body of `POST /api/v1/links/lookup`: targets or codes, at most 10,000. An addition of the reference server. */
export type LookupBody = { links: readonly LookupTarget[] } | { codes: readonly string[] };

/** What was found for one entry. */
export interface LookupResult extends Data<typeof lookupResult> {}
const lookupResult = {
  /** The links of the account, oldest first: at most 20. */
  links: [link] as Link[],
  /**
   * There are others: the same entry with `after`, the id of the last of these links, gets them. Without any links here, the response
   * was full: ask for the same entry again as it is. @default false
   */
  more: false,
};

/** The response to a look-up: a result for each entry, in the order asked. */
export interface LookupResponse extends Data<typeof lookupResponse> {}
export const lookupResponse = { results: [lookupResult] as LookupResult[] };

/**
 * Reads the response to a look-up of `count` entries. It is read less leniently than others: a result that is left out, or
 * a link that can't be read, would look as if the link didn't exist, and the caller might create it once more.
 */
export function readLookup(value: ResponseBody, count: number): Read<LookupResponse> {
  const { results: given } = value;
  if (!Array.isArray(given)) return { missing: 'results' };
  if (given.length !== count) {
    return { missing: `result for each of the ${count} entries: it has ${given.length}` };
  }
  const results: LookupResult[] = [];
  for (const [index, result] of given.entries()) {
    const found: unknown = isObject(result) ? result['links'] : undefined;
    if (!Array.isArray(found)) return { missing: `results[${index}].links` };
    const links: Link[] = [];
    for (const item of found) {
      const link = isObject(item) ? readLink(item) : { missing: 'link' };
      if ('missing' in link) return { missing: `${link.missing} in results[${index}]` };
      links.push(link.data);
    }
    results.push({ ...result, links, more: result.more === true });
  }
  return { data: { ...value, results } };
}

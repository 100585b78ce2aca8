import * as z from 'zod/mini';
import { each, type Fields, fieldsOf, flag, type Read, readFields } from './lenient.ts';
import { type Link, linkSchema, readLink } from './link.ts';

/** The most entries of one look-up, whatever the plan's batch size is. */
export const MAX_LOOKUP_ENTRIES = 10_000;

/** One entry of a look-up by target: which links of the account lead there? */
export interface LookupTarget {
  /** Destination URL, exactly as it was sent when the links were created. */
  target_url: string;
  /** Custom domain of the links. @default the service's own domain, and no other one */
  domain_id?: string | undefined;
  /** Id of the last link that an earlier answer named for this entry: only links after it are named. */
  after?: string | undefined;
}

/** Body of `POST /api/v1/links/lookup`: targets or codes, at most 10,000. An addition of the reference server. */
export type LookupBody = { links: readonly LookupTarget[] } | { codes: readonly string[] };

/** What was found for one entry. */
export interface LookupResult {
  /** The links of the account, oldest first: at most 20. */
  links: Link[];
  /** There are others: the same entry with `after`, the id of the last of these links, gets them. @default false */
  more: boolean;
}

/** The answer to a look-up: a result for each entry, in the order asked. */
export interface LookupAnswer {
  results: LookupResult[];
}

/** The answer as the reference server sends it: every field is there. */
export const lookupSchema = z.looseObject({
  results: z.array(z.looseObject({ links: z.array(linkSchema), more: z.boolean() })),
});

/** Reads the response to a look-up. A link without `code` or `short_url` is left out. */
export function readLookup(value: unknown): Read<LookupAnswer> {
  const fields = fieldsOf(value);
  if (fields === undefined) return { missing: '' };
  if (!Array.isArray(fields['results'])) return { missing: 'results' };
  const data = readFields(fields, { results: (results) => each(results, readResult) });
  return { data };
}

const readResult = (result: Fields): LookupResult =>
  readFields(result, {
    links: (links) => each(links, readLink).flatMap((link) => ('data' in link ? [link.data] : [])),
    more: (more) => flag(more, false),
  });

import { MAX_LOOKUP_ENTRIES } from '@shortlink/sdk/wire';
import {
  checkEntries,
  FOREIGN_DOMAIN,
  linkInputSchema,
  parseEntry,
  reject,
  text,
  type Validated,
  validateList,
} from './validate-link.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What a code can be. Anything else is the code of no link, and is not looked up. */
const CODE = /^[\w-]{1,64}$/;

/** Shape of one entry of a look-up by target. Whether a new link may lead there makes no difference. */
export const lookupTargetSchema = linkInputSchema
  .pick({ target_url: true, domain_id: true })
  .extend({ after: text().regex(UUID, 'must be the id of a link').optional() });

/** Links that lead to a target, or the link with a code. */
export type LookupEntry = LookupTarget | { code: string };

export interface LookupTarget {
  target_url: string;
  /** `null` is the default domain. */
  domain_id: string | null;
  /** Only links with a higher id, in lower case. @default all */
  after?: string | undefined;
}

/** The one list of a look-up. */
export interface LookupOutline {
  list: 'links' | 'codes';
  links: readonly unknown[];
}

/** Checks that a look-up has `links` or `codes`, an array of 1 to 10,000. */
export function validateLookupOutline(body: Record<string, unknown>): Validated<LookupOutline> {
  const list = body['codes'] === undefined ? 'links' : 'codes';
  if (list === 'codes' && body['links'] !== undefined) {
    return reject('codes', 'must not be given together with links');
  }
  const links = validateList(list, body[list], MAX_LOOKUP_ENTRIES);
  return links.ok ? { ok: true, value: { list, links: links.value } } : links;
}

/** Checks the entries of a look-up, see {@link checkEntries}. */
export function validateLookup(
  { list, links }: LookupOutline,
  ownedDomains: ReadonlySet<string>,
): Promise<Validated<LookupEntry[]>> {
  return checkEntries<LookupEntry>(links, (entry) => {
    if (list === 'codes') {
      if (typeof entry !== 'string') {
        return { ok: false, details: [{ field: '', message: 'must be a string' }] };
      }
      return { ok: true, value: { code: CODE.test(entry) ? entry : '' } };
    }
    const parsed = parseEntry(lookupTargetSchema, entry);
    if (!parsed.ok) return parsed;
    const { target_url, domain_id = null, after } = parsed.value;
    if (domain_id !== null && !ownedDomains.has(domain_id)) {
      return { ok: false, details: [FOREIGN_DOMAIN] };
    }
    return { ok: true, value: { target_url, domain_id, after: after?.toLowerCase() } };
  });
}

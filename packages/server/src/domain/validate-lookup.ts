import * as z from 'zod/mini';
import { UUID } from './ids.ts';
import {
  checkEntries,
  linkInputSchema,
  parseEntry,
  reject,
  text,
  type Validated,
  validateList,
} from './validate-link.ts';

/** What a code can be. Anything else is the code of no link, and is not looked up. */
const CODE = /^[\w-]{1,64}$/;

/** Shape of one entry of a look-up by target. Whether a new link may lead there makes no difference. */
export const lookupTargetSchema = z.extend(
  z.pick(linkInputSchema, { target_url: true, domain_id: true }),
  { after: z.optional(text().check(z.regex(UUID, 'must be the id of a link'))) },
);

export type LookupEntry = LookupTarget | { code: string };

export interface LookupTarget {
  target_url: string;
  /** `null` is the default domain. */
  domain_id: string | null;
  /** Only links with a higher id, in lower case. @default all */
  after?: string | undefined;
  /** The number that an index has for the target (see `targetNumber`), where it is known already. */
  number?: number | undefined;
}

/** Checks that a look-up has `links` or `codes`, and the entries of the list, see {@link checkEntries}. */
export function validateLookup(
  body: Record<string, unknown>,
  ownedDomains: ReadonlySet<string>,
): Validated<LookupEntry[]> {
  const list = body['codes'] === undefined ? 'links' : 'codes';
  if (list === 'codes' && body['links'] !== undefined) {
    return reject('codes', 'must not be given together with links');
  }
  const entries = validateList(body, list);
  if (!entries.ok) return entries;
  return checkEntries<LookupEntry>(entries.value, (entry) =>
    list === 'codes' ? validateCode(entry) : validateTarget(entry, ownedDomains),
  );
}

function validateCode(entry: unknown): Validated<LookupEntry> {
  if (typeof entry !== 'string')
    return { ok: false, details: [{ field: '', message: 'must be a string' }] };
  return { ok: true, value: { code: CODE.test(entry) ? entry : '' } };
}

function validateTarget(entry: unknown, owned: ReadonlySet<string>): Validated<LookupEntry> {
  const parsed = parseEntry(lookupTargetSchema, entry);
  if (!parsed.ok) return parsed;
  const { target_url, domain_id: domain = null, after } = parsed.value;
  // On a domain of nobody, or of somebody else, the account has no links.
  const domain_id = domain === null || owned.has(domain) ? domain : '';
  return { ok: true, value: { target_url, domain_id, after: after?.toLowerCase() } };
}

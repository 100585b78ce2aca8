import type { ErrorDetail } from '@shortlink/sdk/wire';
import * as wire from '@shortlink/sdk/wire';
import * as z from 'zod/mini';
// Through `z.core`, a page would load the messages of zod in all languages.
import { toDotPath } from 'zod/v4/core';
import { UUID } from './ids.ts';
import { invalidInput, Problem } from './problem.ts';
import { checkTarget, type TargetRules } from './targets.ts';

/** Half of a surrogate pair: it can't be written as UTF-8, so it could not be returned as it was sent. */
const LONE_SURROGATE = /\p{Surrogate}/u;

const text = (what = 'must be a string') =>
  z.string({ error: (issue) => (issue.input === undefined ? 'is required' : what) }).check(
    z.refine((value) => !LONE_SURROGATE.test(value), 'must be valid Unicode'),
    z.refine((value) => !value.includes('\0'), 'must not contain NUL'),
  );

const atMost = (length: number) => z.maxLength(length, `must be at most ${length} characters`);

/** Longest `domain_id`. The service's own ids have 16 characters. */
const MAX_DOMAIN_ID_LENGTH = 64;

/** Shape and bounds of one link. Unknown fields are dropped. Messages begin with the verb, before which the field's name is put. */
export const linkInputSchema = z.object({
  target_url: text().check(atMost(wire.MAX_TARGET_URL_LENGTH)),
  title: z.optional(text().check(atMost(wire.MAX_TITLE_LENGTH))),
  domain_id: z.optional(text().check(atMost(MAX_DOMAIN_ID_LENGTH))),
  redirect_type: z.optional(
    z.literal(wire.REDIRECT_TYPES, `must be ${wire.REDIRECT_TYPES.join(', ')}`),
  ),
  tags: z.optional(
    z
      .array(
        text().check(z.minLength(1, 'must not be empty'), atMost(wire.MAX_TAG_LENGTH)),
        'must be an array of strings',
      )
      .check(z.maxLength(wire.MAX_TAGS, `must have at most ${wire.MAX_TAGS} entries`)),
  ),
});

export interface LinkRules extends TargetRules {
  ownedDomains: ReadonlySet<string>;
}

/** A link with every default filled in, ready to be stored. */
export interface ValidLink {
  target_url: string;
  title: string;
  redirect_type: wire.RedirectType;
  tags: readonly string[];
  /** `null` is the default domain. */
  domain_id: string | null;
}

/**
 * Checks one link. A link that names no domain gets `defaultDomainId`, where `null` is the service's own.
 * @throws Problem whose details name each bad field once
 */
export function validateLink(
  input: unknown,
  rules: LinkRules,
  defaultDomainId: string | null = null,
): ValidLink {
  const parsed = parseEntry(linkInputSchema, input);
  const { target_url, title = '', domain_id = defaultDomainId, tags = [] } = parsed;
  const details: ErrorDetail[] = [];
  const problem = checkTarget(target_url, rules);
  if (problem !== undefined) details.push(fieldDetail('target_url', problem));
  if (domain_id !== null && !rules.ownedDomains.has(domain_id)) details.push(FOREIGN_DOMAIN);
  if (details.length > 0) throw invalidInput(details);
  const redirect_type = parsed.redirect_type ?? wire.DEFAULT_REDIRECT_TYPE;
  return { target_url, title, redirect_type, tags, domain_id };
}

function parseEntry<T>(schema: z.ZodMiniType<T>, input: unknown): T {
  if (!isObject(input)) throw invalidInput([{ field: '', message: 'must be a JSON object' }]);
  const { data, error } = schema.safeParse(input);
  if (error !== undefined) throw invalidInput(toDetails(error.issues));
  return data;
}

export type JsonObject = Record<string, unknown>;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** A rejected field and why, as a sentence's end: `title must be a string`. */
function fieldDetail(field: string, problem: string): ErrorDetail {
  return { field, message: `${field} ${problem}` };
}

/** The detail is the same for a domain of another account and for one that does not exist. */
const FOREIGN_DOMAIN = fieldDetail('domain_id', 'is not a domain of this account');

/** One detail per field: a later rule says nothing new about a field that failed already. */
function toDetails(issues: readonly z.core.$ZodIssue[]): ErrorDetail[] {
  const details = issues.map(({ path, message }) => fieldDetail(toDotPath(path), message));
  return details.filter(({ field }, at) => details.findIndex((one) => one.field === field) === at);
}

export function validateBatch(body: JsonObject, rules: LinkRules): ValidLink[] {
  const { domain_id } = body;
  const links = listIn(body, 'links');
  if (domain_id !== undefined && typeof domain_id !== 'string') {
    throw reject('domain_id', 'must be a string');
  }
  if (domain_id !== undefined && !rules.ownedDomains.has(domain_id)) {
    throw invalidInput([FOREIGN_DOMAIN]);
  }
  const entryRules = { ...rules, fineOrigins: new Set<string>() };
  return checkEntries('links', links, (entry) => validateLink(entry, entryRules, domain_id));
}

function listIn(body: JsonObject, field: string): readonly unknown[] {
  const list = body[field];
  if (list === undefined) throw reject(field, 'is required');
  if (!Array.isArray(list)) throw reject(field, 'must be an array');
  if (list.length === 0) throw reject(field, 'must not be empty');
  if (list.length <= wire.MAX_BATCH_LINKS) return list;
  throw reject(field, `must have at most ${wire.MAX_BATCH_LINKS} entries, not ${list.length}`);
}

const reject = (field: string, problem: string) => invalidInput([fieldDetail(field, problem)]);

/** Whether a body or one of its entries names a custom domain. */
export function namesDomain(body: JsonObject): boolean {
  const { links } = body;
  const entries = Array.isArray(links) ? links.filter(isObject) : [];
  return [body, ...entries].some(({ domain_id }) => typeof domain_id === 'string');
}

/** Checks all entries; a bad one rejects them all. Stops after {@link wire.MAX_ERROR_DETAILS} findings: a hopeless list costs no more. */
function checkEntries<T>(
  field: string,
  entries: readonly unknown[],
  check: (entry: unknown) => T,
): T[] {
  const valid: T[] = [];
  const details: ErrorDetail[] = [];
  for (const [index, entry] of entries.entries()) {
    try {
      valid.push(check(entry));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      for (const detail of error.body.details ?? []) details.push({ index, ...detail });
    }
    if (details.length >= wire.MAX_ERROR_DETAILS) break;
  }
  if (details.length === 0) return valid;
  throw invalidInput(details.slice(0, wire.MAX_ERROR_DETAILS), field);
}

/** What a code can be. Anything else is the code of no link, and is not looked up. */
const LOOKED_UP_CODE = /^[\w-]{1,64}$/;

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

export function validateLookup(body: JsonObject, rules: LinkRules): LookupEntry[] {
  if (body['codes'] === undefined) {
    return checkEntries('links', listIn(body, 'links'), (entry) => validateTarget(entry, rules));
  }
  if (body['links'] !== undefined) throw reject('codes', 'must not be given together with links');
  return checkEntries('codes', listIn(body, 'codes'), validateCode);
}

function validateCode(entry: unknown): LookupEntry {
  if (typeof entry === 'string') return { code: LOOKED_UP_CODE.test(entry) ? entry : '' };
  throw invalidInput([{ field: '', message: 'must be a string' }]);
}

function validateTarget(entry: unknown, { ownedDomains }: LinkRules): LookupEntry {
  const parsed = parseEntry(lookupTargetSchema, entry);
  const { target_url, domain_id: domain = null, after } = parsed;
  // On a domain of nobody, or of somebody else, the account has no links.
  const domain_id = domain === null || ownedDomains.has(domain) ? domain : '';
  return { target_url, domain_id, after: after?.toLowerCase() };
}

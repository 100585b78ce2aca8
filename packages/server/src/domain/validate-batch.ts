import { setImmediate as nextTurn } from 'node:timers/promises';
import { type ErrorDetail, MAX_BATCH_LINKS, MAX_ERROR_DETAILS } from '@shortlink/sdk/wire';
import {
  fieldDetail,
  isDomainId,
  isObject,
  type LinkRules,
  type Validated,
  type ValidLink,
  validateLink,
} from './validate-link.ts';

/** A batch body whose outline is right; its entries are still unchecked. */
export interface BatchOutline {
  domain_id: string | undefined;
  links: readonly unknown[];
}

/** Checks what is around the entries: `links` is an array of 1 to 10,000, `domain_id` a string. */
export function validateBatchOutline(body: Record<string, unknown>): Validated<BatchOutline> {
  const { domain_id, links } = body;
  if (links === undefined) return refuse('links', 'is required');
  if (!Array.isArray(links)) return refuse('links', 'must be an array');
  if (links.length === 0) return refuse('links', 'must not be empty');
  if (links.length > MAX_BATCH_LINKS) {
    return refuse('links', `must have at most ${MAX_BATCH_LINKS} entries, not ${links.length}`);
  }
  if (domain_id !== undefined && typeof domain_id !== 'string') {
    return refuse('domain_id', 'must be a string');
  }
  return { ok: true, value: { domain_id, links } };
}

function refuse(field: string, problem: string): { ok: false; details: ErrorDetail[] } {
  return { ok: false, details: [fieldDetail(field, problem)] };
}

/** Every domain that the request names and that can exist, so that one look-up is enough for all entries. */
export function domainIdsOf(batch: BatchOutline): string[] {
  const ids = new Set<string>();
  if (isDomainId(batch.domain_id)) ids.add(batch.domain_id);
  for (const entry of batch.links) {
    if (isObject(entry) && isDomainId(entry['domain_id'])) ids.add(entry['domain_id']);
  }
  return [...ids];
}

/** Entries that are checked in one turn of the event loop: about a millisecond. Redirects wait no longer for a batch. */
const ENTRIES_PER_TURN = 500;

/**
 * Checks all entries; one bad entry is enough to reject the batch. Stops after {@link MAX_ERROR_DETAILS}
 * findings, so that a hopeless batch costs no more than a good one.
 */
export async function validateEntries(
  batch: BatchOutline,
  rules: Omit<LinkRules, 'defaultDomainId'>,
): Promise<Validated<ValidLink[]>> {
  if (batch.domain_id !== undefined && !rules.ownedDomains.has(batch.domain_id)) {
    return refuse('domain_id', 'is not a domain of this account');
  }
  const entryRules = { ...rules, defaultDomainId: batch.domain_id ?? null };
  const links: ValidLink[] = [];
  const details: ErrorDetail[] = [];
  for (const [index, entry] of batch.links.entries()) {
    if (index > 0 && index % ENTRIES_PER_TURN === 0) await nextTurn();
    const checked = validateLink(entry, entryRules);
    if (checked.ok) links.push(checked.value);
    else details.push(...checked.details.map((detail) => ({ index, ...detail })));
    if (details.length >= MAX_ERROR_DETAILS) break;
  }
  if (details.length === 0) return { ok: true, value: links };
  return { ok: false, details: details.slice(0, MAX_ERROR_DETAILS) };
}

import * as check from '../check-options.ts';
import { ApiError } from '../errors/api-errors.ts';
import { type CreateLinkBody, type LinkInput, pickLinkFields } from '../wire/link.ts';
import { type Batch, type Entry, isEntryError } from './batch-plan.ts';
import type { BatchRange } from './create-many.ts';

/** Longest idempotency key that services take. */
const MAX_KEY_LENGTH = 255;

/** Links that are written as JSON at once: one by one takes half as long again, all at once holds all their fields. */
const PIECE_LINKS = 200;

/**
 * The request of a batch without the entries that are refused, or can't be written as JSON, such as one with a BigInt, which
 * count as refused from now on. Undefined when none is left; `count` links are in it.
 */
export function batchRequest(
  batch: Batch<LinkInput>,
  domain_id: string | undefined,
  key: string | undefined,
) {
  const entries = openEntries(batch);
  const pieces: string[] = [];
  for (let first = 0; first < entries.length; first += PIECE_LINKS) {
    pieces.push(...written(entries.slice(first, first + PIECE_LINKS)));
  }
  const json = `${JSON.stringify({ domain_id, links: [] }).slice(0, -2)}${pieces.join()}]}`;
  const omitted = [...batch.keys()].filter((n) => batch[n]?.refused);
  const count = batch.length - omitted.length;
  return count === 0 ? undefined : { json, count, key: key && derivedKey(key, omitted) };
}

/** The JSON of some links, without the brackets around it. */
function written(entries: Batch<LinkInput>): string[] {
  const links = entries.flatMap((entry) => orRefuse(entry, () => pickSent(entry)) ?? []);
  try {
    return links.length === 0 ? [] : [JSON.stringify(links).slice(1, -1)];
  } catch {
    return openEntries(entries).flatMap((entry) => {
      return orRefuse(entry, () => JSON.stringify(pickSent(entry))) ?? [];
    });
  }
}

function orRefuse<R>(entry: Entry<LinkInput>, write: () => R): R | undefined {
  try {
    return write();
  } catch (reason) {
    const cause = check.unwritable(`source[${entry.index}]`, reason);
    entry.refused = { error: cause.message, cause };
    return undefined;
  }
}

/** The entries that are not refused. */
export function openEntries<T extends LinkInput>(batch: Batch<T>): Entry<T>[] {
  return batch.filter(({ refused }) => refused === undefined);
}

/** What is to be sent of an entry, which keeps the target. */
export function pickSent(entry: Entry<LinkInput>): CreateLinkBody {
  const link = pickLinkFields(entry.input);
  // Callers without types send what they like.
  entry.target_url = typeof link.target_url === 'string' ? link.target_url : '';
  return link;
}

/** Marks the entries that the error of a request names. Returns whether it names any, so that the others are worth a request. */
export function refuseEntries(batch: Batch<LinkInput>, hasKey: boolean, error: unknown): boolean {
  if (!ApiError.isInstance(error) || !isEntryError(error, hasKey)) return false;
  const sent = openEntries(batch);
  const reasons = new Map<Entry<LinkInput>, string>();
  for (const { index = -1, field, message } of error.body?.details ?? []) {
    const entry = sent[index];
    if (entry === undefined) continue;
    // The messages of some services begin with the field.
    const parts = message?.startsWith(`${field} `) ? [message] : [field, message];
    const reason = parts.filter(Boolean).join(': ') || error.message;
    reasons.set(entry, [reasons.get(entry), reason].filter(Boolean).join('; '));
  }
  // Where the others were refused before, the last one needs no name.
  const [only, ...others] = sent;
  const isLast = only !== undefined && others.length === 0 && batch.length > 1;
  if (reasons.size === 0 && error.body && isLast) reasons.set(only, error.message);
  for (const [entry, reason] of reasons) entry.refused = { error: reason, cause: error };
  return reasons.size > 0;
}

/** Calls the caller's `idempotencyKey`. @throws InvalidOptionError when it returns what is no key */
export function keyOf(range: BatchRange, idempotencyKey?: (batch: BatchRange) => string) {
  if (idempotencyKey === undefined) return undefined;
  const key: unknown = idempotencyKey(range);
  if (check.isIdempotencyKey(key)) return key;
  const expected = 'a function that returns a key of 1 to 255 visible ASCII characters';
  return check.refuse('idempotencyKey', expected);
}

/** The key of a batch without the entries at these positions (ascending): the same in each run, and one for each body. */
export function derivedKey(key: string, omitted: readonly number[]): string {
  if (omitted.length === 0) return key;
  const suffix = `-${hash(`${key} ${omitted.join()}`)}`;
  return key.slice(0, MAX_KEY_LENGTH - suffix.length) + suffix;
}

/** FNV-1a, 64 bits: `crypto.subtle` needs https in a page, and only the few bodies of one batch have to be told apart. */
function hash(text: string): string {
  let bits = 0xcb_f2_9c_e4_84_22_23_25n;
  for (const byte of new TextEncoder().encode(text)) {
    bits = BigInt.asUintN(64, (bits ^ BigInt(byte)) * 0x1_00_00_00_01_b3n);
  }
  return bits.toString(16).padStart(16, '0');
}

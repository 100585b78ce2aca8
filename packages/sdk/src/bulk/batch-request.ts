import * as check from '../check-options.ts';
import { ApiError } from '../errors/api-errors.ts';
import { type CreateLinkBody, type LinkInput, pickLinkFields } from '../wire/link.ts';
import { type Batch, isEntryError } from './batch-plan.ts';
import type { BatchRange } from './create-many.ts';

/** Longest idempotency key that services take. */
const MAX_KEY_LENGTH = 255;

/**
 * The request of a batch without the entries that the service is known to refuse, and without those that can't be written as
 * JSON, such as one with a BigInt, which count as refused from now on. Undefined when all of its entries are refused, else `count`
 * links are in it.
 */
export function batchRequest(
  batch: Batch<LinkInput>,
  domain_id: string | undefined,
  key: string | undefined,
) {
  const { first, inputs, targets, refused } = batch;
  const write = (asPlain: (link: CreateLinkBody) => unknown) => {
    const links: unknown[] = [];
    for (const offset of sentOffsets(batch)) {
      try {
        const link = pickLinkFields(inputs[offset] as LinkInput);
        targets[offset] = typeof link.target_url === 'string' ? link.target_url : '';
        links.push(asPlain(link));
      } catch (reason) {
        const cause = check.unwritable(`source[${first + offset}]`, reason);
        refused.set(first + offset, { error: cause.message, cause });
      }
    }
    return JSON.stringify({ domain_id, links });
  };
  let json: string;
  try {
    // All links at once, which takes two thirds of the time of one by one.
    json = write((link) => link);
  } catch {
    json = write((link) => JSON.parse(JSON.stringify(link)));
  }
  const offsets = [...refused.keys()].map((position) => position - first);
  const omitted = offsets.filter((offset) => offset in inputs).sort((a, b) => a - b);
  const count = inputs.length - omitted.length;
  return count === 0 ? undefined : { json, count, key: key && derivedKey(key, omitted) };
}

/** Which links of a batch its request has: all but the refused ones. */
export function sentOffsets({ first, inputs, refused }: Batch<LinkInput>): number[] {
  const offsets: number[] = [];
  for (let offset = 0; offset < inputs.length; offset += 1) {
    if (!refused.has(first + offset)) offsets.push(offset);
  }
  return offsets;
}

/** Marks the entries that the error of a request names. Returns whether it names any, so that the others are worth a request. */
export function refuseEntries(batch: Batch<LinkInput>, hasKey: boolean, error: unknown): boolean {
  if (!ApiError.isInstance(error) || !isEntryError(error, hasKey)) return false;
  const { first, inputs, refused } = batch;
  const offsets = sentOffsets(batch);
  const reasons = new Map<number, string>();
  for (const { index = -1, field, message } of error.body?.details ?? []) {
    const offset = offsets[index];
    if (offset === undefined) continue;
    const reason = [field, message].filter(Boolean).join(': ') || error.message;
    reasons.set(offset, [reasons.get(offset), reason].filter(Boolean).join('; '));
  }
  // Where the others were refused before, the last one needs no name.
  const [only, ...others] = offsets;
  const isLast = only !== undefined && others.length === 0 && inputs.length > 1;
  if (reasons.size === 0 && error.body && isLast) reasons.set(only, error.message);
  for (const [offset, reason] of reasons) {
    refused.set(first + offset, { error: reason, cause: error });
  }
  return reasons.size > 0;
}

/** What would be sent of a link; undefined where it can't be written. */
export function sentOf(link: LinkInput | undefined): CreateLinkBody | undefined {
  try {
    return link && pickLinkFields(link);
  } catch {
    return undefined;
  }
}

/** Calls the caller's `idempotencyKey`. @throws InvalidOptionError when it returns what is no key */
export function keyOf(
  range: BatchRange,
  idempotencyKey: ((batch: BatchRange) => string) | undefined,
): string | undefined {
  const key: unknown = idempotencyKey?.(range);
  if (idempotencyKey === undefined || check.isIdempotencyKey(key)) return key as string | undefined;
  const expected = 'a function that returns a key of 1 to 255 visible ASCII characters';
  return check.refuse('idempotencyKey', expected);
}

/**
 * The idempotency key of a batch without some of its entries. It depends on nothing but the key of the batch and these
 * entries, so that a later run over the same source sends the same body with the same key, and another body never.
 *
 * @param omitted positions in the batch, in ascending order
 */
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

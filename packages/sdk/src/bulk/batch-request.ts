import { isIdempotencyKey } from '../check-options.ts';
import { InvalidOptionError } from '../errors/call-errors.ts';
import { type LinkInput, pickLinkFields } from '../wire/link.ts';
import type { Batch } from './order.ts';
import type { BatchRange } from './types.ts';

/** Links that are written at once. */
const PIECE_LINKS = 200;

/** Longest idempotency key that services take. */
const MAX_KEY_LENGTH = 255;

/**
 * The JSON body of a batch: exactly the fields of each link. It is written in pieces, because an engine keeps every object
 * that it gives to `JSON.stringify` until this returns, and the garbage collector would copy 10,000 of them.
 *
 * @returns undefined when a link can't be written, see {@link batchRequest}
 */
export function batchJson(
  domain_id: string | undefined,
  links: readonly LinkInput[],
): string | undefined {
  const domain = domain_id === undefined ? '' : `"domain_id":${JSON.stringify(domain_id)},`;
  // Joined once, so that the text is flat: if it were added up, it would be copied again to be sent.
  const pieces = [`{${domain}"links":[`];
  for (let first = 0; first < links.length; first += PIECE_LINKS) {
    if (first > 0) pieces.push(',');
    const piece = links.slice(first, first + PIECE_LINKS);
    try {
      pieces.push(JSON.stringify(piece.map(pickLinkFields)).slice(1, -1));
    } catch {
      return undefined;
    }
  }
  pieces.push(']}');
  return pieces.join('');
}

/** One request of a batch. */
export interface BatchRequest {
  json: string;
  /** Links in it. */
  count: number;
  /** Positions in the source of its links. Undefined when no entry is left out. */
  positions: readonly number[] | undefined;
  key: string | undefined;
}

/**
 * The request of a batch without the entries that the service is known to refuse, and without those that can't be written as JSON,
 * such as one with a BigInt, which count as refused from now on. Returns undefined when all of its entries are refused.
 *
 * @throws InvalidOptionError for links that change while they are written
 */
export function batchRequest(
  { first, inputs, refused }: Batch<LinkInput>,
  domain_id: string | undefined,
  key: string | undefined,
): BatchRequest | undefined {
  for (;;) {
    const isSent = (_: unknown, offset: number) => !refused.has(first + offset);
    const links = refused.size === 0 ? inputs : inputs.filter(isSent);
    if (links.length === 0) return undefined;
    const offsets = [...(links === inputs ? [] : inputs.keys())];
    const omitted = offsets.filter((offset) => refused.has(first + offset));
    const json = batchJson(domain_id, links);
    if (json !== undefined) {
      const positions = offsets.filter((offset) => isSent(0, offset)).map((n) => first + n);
      return {
        json,
        count: links.length,
        positions: omitted.length === 0 ? undefined : positions,
        key: key === undefined ? undefined : derivedKey(key, omitted),
      };
    }
    const known = refused.size;
    for (const [offset, link] of inputs.entries()) {
      const error = refused.has(first + offset) ? undefined : jsonError(link, first + offset);
      if (error !== undefined) refused.set(first + offset, { error: error.message, cause: error });
    }
    if (refused.size === known)
      throw new InvalidOptionError('source', 'links that do not change while they are sent');
  }
}

/** Why a link can't be written as JSON; undefined when it can. */
function jsonError(link: LinkInput, position: number): InvalidOptionError | undefined {
  try {
    JSON.stringify(pickLinkFields(link));
    return undefined;
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const expected = `a link that can be written as JSON: ${why}`;
    const error = new InvalidOptionError(`source[${position}]`, expected);
    error.cause = cause;
    return error;
  }
}

/** Calls the caller's `idempotencyKey`. @throws InvalidOptionError when it returns what is no key */
export function keyOf(
  range: BatchRange,
  idempotencyKey: ((batch: BatchRange) => string) | undefined,
): string | undefined {
  if (idempotencyKey === undefined) return undefined;
  const key: unknown = idempotencyKey(range);
  if (isIdempotencyKey(key)) return key;
  const expected = 'a function that returns a key of 1 to 255 visible ASCII characters';
  throw new InvalidOptionError('idempotencyKey', expected);
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

/**
 * 64 bits of a text, as two FNV-1a hashes with different starts. Synchronous, unlike `crypto.subtle`, which pages without
 * https don't have. It only has to tell the few bodies of one batch apart.
 */
function hash(text: string): string {
  let a = 0x81_1c_9d_c5;
  let b = 0x5b_d1_e9_95;
  for (let i = 0; i < text.length; i += 1) {
    const code = text.charCodeAt(i);
    a = Math.imul(a ^ code, 0x01_00_01_93);
    b = Math.imul(b ^ code, 0x85_eb_ca_6b);
    b ^= b >>> 13;
  }
  return [a, b].map((half) => (half >>> 0).toString(16).padStart(8, '0')).join('');
}

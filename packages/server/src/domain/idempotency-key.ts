/** Printable ASCII without a space, and not beginning like a quoted key. */
const BARE_KEY = /^(?!")[\x21-\x7e]{1,255}$/;

/** A structured-field string (RFC 9651 section 3.3.3). */
const QUOTED_KEY = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"$/;

/**
 * The key in an `Idempotency-Key` header: the draft asks for a quoted string, and most clients send it bare.
 * `undefined` when it is neither, is empty, or is longer than 255 characters.
 */
export function parseIdempotencyKey(header: string): string | undefined {
  if (BARE_KEY.test(header)) return header;
  return QUOTED_KEY.exec(header)?.[1]?.replace(/\\(["\\])/g, '$1');
}

const SPACE = 32;
const DEL = 127;

/** `text.trim()`, without the call where there is nothing to trim: an import asks six times a row. */
export function trimmed(text: string): string {
  return isInk(text.charCodeAt(0)) && isInk(text.charCodeAt(text.length - 1)) ? text : text.trim();
}

/** A printable ASCII character. */
function isInk(code: number): boolean {
  return code > SPACE && code < DEL;
}

/**
 * Whether a text has more than `limit` characters as the service counts them: by Unicode code point, so that an emoji is one. A code
 * point is at most two units of the string, so only what is longer in units has to be counted.
 */
export function isLongerThan(limit: number, text: string): boolean {
  return text.length > limit && characterCount(text) > limit;
}

export function characterCount(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

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

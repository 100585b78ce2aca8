import { isTextList } from './cells.ts';

/** Text that may hold a number which JavaScript would write differently: it follows a key, a comma or a bracket. Times of day in texts don't. */
const INEXACT = /(?:"\s*:|[,[])\s*-?(?:\d{16}|\d+[.eE]|(?<=-)0)/;

/** Keeps a number as it is written where a JavaScript number would lose digits: `12345678901234567890`, `1.0`, `-0`. */
function keepNumber(_key: string, value: unknown, context?: { source?: string }): unknown {
  const { source } = context ?? {};
  return typeof value === 'number' && source !== undefined && String(value) !== source
    ? (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(source)
    : value;
}

/**
 * A text of JSON, whose numbers keep all of their digits when they are written again.
 *
 * @throws SyntaxError for other text
 */
export function parseExactly(text: string): unknown {
  const value: unknown = JSON.parse(text);
  // The look for numbers, and a function for each value even more, cost as much as the parsing.
  return hasOnlyText(value) || !INEXACT.test(text) ? value : JSON.parse(text, keepNumber);
}

/** Whether every value is a text or a list of texts, as in nearly all lines: none is a number, and none is nested. */
function hasOnlyText(value: unknown): boolean {
  const object = Object(value);
  for (const key in object) {
    const inner: unknown = object[key];
    if (!(typeof inner === 'string' || isTextList(inner))) return false;
  }
  return true;
}

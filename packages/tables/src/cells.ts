/** Whether a cell begins as an absolute URL does: no header is one. */
export function looksLikeUrl(cell: string | undefined): boolean {
  return cell !== undefined && /^\s*https?:\/\//i.test(cell);
}

/** A URL whose scheme is missing: a host with a path, or one that is no name such as `data.url`. */
export const SCHEMELESS_URL =
  /^(?:www\.[^\s,;|"{]+|[^\s/?#,;|"{]+\.(?:com|org|net|edu|gov|io)|[^\s/?#,;|"{]+\.[^\s/?#,;|"{.]{2,}[/?#].*)$/i;

const COMMA = 44;
const SEMICOLON = 59;
const BAR = 124;

/**
 * The tags of a cell: trimmed, without the empty ones, cut at `separator` or else at any of `,` `;` `|`. A JSON array is taken as
 * one, which is how arrays of JSON Lines stand in a cell; `null` is no tag.
 */
export function splitTags(cell: string, separator: string | undefined): string[] {
  const text = trimmed(cell);
  if (text === '') return [];
  const strings = jsonStrings(text);
  if (strings !== undefined) return cleanTags(strings);
  return separator === undefined ? cut(text) : cleanTags(text.split(separator));
}

export function cleanTags(parts: readonly string[]): string[] {
  return parts.map(trimmed).filter((tag) => tag !== '');
}

/** Cuts at the usual separators, character by character: a pattern or a search for each of them costs twice as much. */
function cut(text: string): string[] {
  const tags: string[] = [];
  let start = 0;
  for (let at = 0; at <= text.length; at += 1) {
    if (at < text.length && !isSeparator(text.charCodeAt(at))) continue;
    const tag = trimmed(text.slice(start, at));
    if (tag !== '') tags.push(tag);
    start = at + 1;
  }
  return tags;
}

function isSeparator(code: number): boolean {
  return code === BAR || code === COMMA || code === SEMICOLON;
}

function jsonStrings(text: string): string[] | undefined {
  if (!text.startsWith('[')) return undefined;
  try {
    const items = parseExactly(text);
    if (!Array.isArray(items) || items.some(isNested)) return undefined;
    return items.filter((item) => item !== null).map(toCell);
  } catch {
    return undefined;
  }
}

/** Whether a value of JSON is a list of nothing but texts. */
export function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** Whether a value of JSON is an object or an array. A number that is kept as it is written is an object of JavaScript only. */
export function isNested(value: unknown): boolean {
  return typeof value === 'object' && value !== null && /^[[{]/.test(JSON.stringify(value));
}

const SPACE = 32;
const DEL = 127;

/** `text.trim()`, without the call where there is nothing to trim: an import asks six times a row. */
export function trimmed(text: string): string {
  return isInk(text.charCodeAt(0)) && isInk(text.charCodeAt(text.length - 1)) ? text : text.trim();
}

function isInk(code: number): boolean {
  return code > SPACE && code < DEL;
}

/** A value of JSON as the text of a cell. */
export function toCell(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
}

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

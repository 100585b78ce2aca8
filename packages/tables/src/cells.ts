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

/** Tags trimmed, without the empty ones. */
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
    const plain: unknown = JSON.parse(text);
    // Only other lists are read by a function of our own, which takes ten times as long.
    const items: unknown = isTextList(plain) ? plain : JSON.parse(text, numbersAsWritten);
    if (!Array.isArray(items) || items.some(isNested)) return undefined;
    return items.filter((item) => item !== null).map(String);
  } catch {
    return undefined;
  }
}

/** Whether a value of JSON is a list of nothing but texts. */
export function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((item) => typeof item === 'string');
}

/** A number may have more digits than a JavaScript number holds. */
function numbersAsWritten(_key: string, value: unknown, context?: { source?: string }): unknown {
  return typeof value === 'number' ? (context?.source ?? value) : value;
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

/** A printable ASCII character. */
function isInk(code: number): boolean {
  return code > SPACE && code < DEL;
}

/** A value of JSON as the text of a cell. */
export function toCell(value: unknown): string {
  if (typeof value === 'string') return value;
  return value === null ? '' : JSON.stringify(value);
}

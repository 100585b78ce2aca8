import { shown } from '../errors.ts';

/**
 * Scheme and authority, as every URL parser reads them. A backslash before the path names two hosts at once: browsers
 * read it as a slash, others as part of the host.
 */
const SCHEME_AND_AUTHORITY = /^https?:\/\/([^/?#\\]+)(\\?)/i;

/** An authority without a password, which would become public. The service accepts a user name alone. */
const USER_INFO = /^(?:[^:@]+@)?[^@]*$/;

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f]/;

/** Longest `Location` of a redirect: each character that is not ASCII becomes several bytes of it. */
const MAX_LOCATION_BYTES = 8_192;

/**
 * What nearly all URLs look like: named host, no port or user, plain ASCII. They need none of the other checks, which cost six
 * times as much. Labels begin with a letter, so that no host is a number (an IPv4 address may be wrong), and none is Punycode.
 */
const PLAIN_URL =
  /^https?:\/\/(?!xn--)[a-z][a-z0-9-]*(?:\.(?!xn--)[a-z][a-z0-9-]*)+(?:[/?#][!-~]*)?$/i;

/** Whether a cell begins as an absolute URL does: no header is one. */
export function looksLikeUrl(cell: string | undefined): boolean {
  return cell !== undefined && /^\s*https?:\/\//i.test(cell);
}

/** A URL whose scheme is missing: a host with a path, or one that is no name such as `data.url`. */
export const SCHEMELESS_URL =
  /^(?:www\.[^\s,;|"{]+|[^\s/?#,;|"{]+\.(?:com|org|net|edu|gov|io)|[^\s/?#,;|"{]+\.[^\s/?#,;|"{.]{2,}[/?#].*)$/i;

/** A host with a dot, and what may follow one: a URL whose scheme is missing. */
export const SCHEMELESS = /^[^\s/?#:@.]+(?:\.[^\s/?#:@.]+)+\.?(?::\d+)?(?:[/?#]|$)/;

/**
 * A blank or a character that nobody sees: what follows is another URL or a note, or the link would be dead. Joiners may stand between
 * letters of some scripts, and inside emoji. Angle brackets around a URL are those of a text.
 */
const HIDDEN =
  /^<(?=https?:)|[\s\p{Z}\u115f\u1160\u2800\u3164\uffa0]|(?![\u200c\u200d])\p{Cf}|[\u200c\u200d](?=[ -~]|$)|(?<=[ -~])[\u200c\u200d]/u;

const NAMES: Readonly<Record<string, string>> = { '<': 'an angle bracket', ' ': 'a space' };

function nameOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `${NAMES[character] ?? 'an invisible character'} (U+${code})`;
}

/** Why a cell is no target URL, or undefined. `cell` is trimmed. */
export function targetProblem(cell: string, maxLength: number): string | undefined {
  if (cell === '') return 'no target URL';
  if (isLongerThan(maxLength, cell)) {
    return `the target URL is ${characterCount(cell)} characters long, at most ${maxLength} are allowed`;
  }
  if (PLAIN_URL.test(cell)) return undefined;
  if (CONTROL_CHARACTERS.test(cell)) {
    return `the target URL holds a control character or a line break: ${shown(cell)}`;
  }
  const match = SCHEME_AND_AUTHORITY.exec(cell);
  const hidden = HIDDEN.exec(cell);
  if (hidden !== null && (match !== null || !hidden[0].startsWith(' '))) {
    const where = characterCount(cell.slice(0, hidden.index)) + 1;
    return `the target URL holds ${nameOf(hidden[0])} at character ${where}: ${shown(cell)}`;
  }
  if (match === null || match[2] !== '') {
    const hint = SCHEMELESS.test(cell) ? '; is https:// missing?' : '';
    return `not an absolute http or https URL: ${shown(cell)}${hint}`;
  }
  if (!USER_INFO.test(match[1] ?? '')) {
    return `the target URL holds a password: ${shown(hideCredentials(cell))}`;
  }
  // Half of a surrogate pair, which JSON can spell, can't be sent as UTF-8.
  const url = cell.isWellFormed() ? URL.parse(cell) : null;
  if (url === null) return `not a valid URL: ${shown(cell)}`;
  if (url.href.length > MAX_LOCATION_BYTES) {
    return `the target URL has ${url.href.length} bytes once it is percent-encoded, at most ${MAX_LOCATION_BYTES} are allowed`;
  }
  return undefined;
}

/** Reasons are printed and kept in files: a password must not be among them. */
function hideCredentials(url: string): string {
  return url.replace(/^([^/]*\/\/)[^/]*@/, '$1…@');
}

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
  if (strings !== undefined) return withoutEmpty(strings);
  return separator === undefined ? cut(text) : withoutEmpty(text.split(separator));
}

function withoutEmpty(parts: readonly string[]): string[] {
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
    const isText = Array.isArray(plain) && plain.every((item) => typeof item === 'string');
    const items: unknown = isText ? plain : JSON.parse(text, numbersAsWritten);
    if (!Array.isArray(items) || items.some(isNested)) return undefined;
    return items.filter((item) => item !== null).map(String);
  } catch {
    return undefined;
  }
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

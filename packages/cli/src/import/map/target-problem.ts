import { MAX_TARGET_URL_LENGTH } from '@shortlink/sdk';
import { shown } from '@shortlink/tables/basics';

/** Scheme and authority. A backslash before the path names two hosts: browsers read it as a slash, others as part of the host. */
const SCHEME_AND_AUTHORITY = /^https?:\/\/([^/?#\\]+)(\\?)/i;

/** A password would become public. The service accepts a user name alone. */
const USER_INFO = /^(?:[^:@]+@)?[^@]*$/;

/** Longest `Location` of a redirect: each character that is not ASCII becomes several bytes of it. */
const MAX_LOCATION_BYTES = 8_192;

/**
 * Nearly all URLs: a named host, no port or user, plain ASCII. They need none of the other checks, which cost six times as much. Labels
 * begin with a letter, so that no host is an IPv4 address, and none is Punycode.
 */
const PLAIN_URL =
  /^https?:\/\/(?!xn--)[a-z][a-z0-9-]*(?:\.(?!xn--)[a-z][a-z0-9-]*)+(?:[/?#][!-~]*)?$/i;

/** A host with a dot, and what may follow one: a URL whose scheme is missing. */
export const SCHEMELESS = /^[^\s/?#:@.]+(?:\.[^\s/?#:@.]+)+\.?(?::\d+)?(?:[/?#]|$)/;

/** A blank, a control character or an invisible one, followed by another URL or a note. Joiners may stand between letters of some scripts, and inside emoji. */
const HIDDEN =
  /^<(?=https?:)|[\s\p{Z}\p{Cc}\u115f\u1160\u2800\u3164\uffa0]|(?![\u200c\u200d])\p{Cf}|[\u200c\u200d](?=[ -~]|$)|(?<=[ -~])[\u200c\u200d]/u;

/** Characters that web pages and text programs leave in URLs; any other is said to be invisible. */
const NAMES: Readonly<Record<string, string>> = {
  '<': 'an angle bracket',
  ' ': 'a space',
  '\t': 'a tab',
  '\n': 'a line break',
  '\r': 'a line break',
  '\u00a0': 'a no-break space',
  '\u00ad': 'a soft hyphen',
  '\u200b': 'a zero-width space',
  '\ufeff': 'a byte order mark',
};

function nameOf(character: string): string {
  const code = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `${NAMES[character] ?? 'an invisible character'} (U+${code})`;
}

/** Why a cell is no target URL, or undefined. `cell` is trimmed. */
export function targetProblem(cell: string): string | undefined {
  if (cell === '') return 'no target URL';
  if (isLongerThan(MAX_TARGET_URL_LENGTH, cell)) {
    return `the target URL is ${characterCount(cell)} characters long, at most ${MAX_TARGET_URL_LENGTH} are allowed`;
  }
  if (PLAIN_URL.test(cell)) return undefined;
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
    // Reasons are printed and kept in files: a password must not be among them.
    return `the target URL holds a password: ${shown(cell.replace(/^([^/]*\/\/)[^/]*@/, '$1…@'))}`;
  }
  // Half of a surrogate pair can't be sent as UTF-8.
  const url = cell.isWellFormed() ? URL.parse(cell) : null;
  if (url === null) return `not a valid URL: ${shown(cell)}`;
  if (url.href.length > MAX_LOCATION_BYTES) {
    return `the target URL has ${url.href.length} bytes once it is percent-encoded, at most ${MAX_LOCATION_BYTES} are allowed`;
  }
  return undefined;
}

/** Whether a text has more than `limit` characters as the service counts them: by Unicode code point, which is at most two units of the string. */
export function isLongerThan(limit: number, text: string): boolean {
  return text.length > limit && characterCount(text) > limit;
}

export function characterCount(text: string): number {
  let count = 0;
  for (const _ of text) count += 1;
  return count;
}

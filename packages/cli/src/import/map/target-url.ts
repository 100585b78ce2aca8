import { shown } from '../errors.ts';
import { characterCount, isLongerThan } from './text.ts';

/**
 * Scheme and authority, as every URL parser reads them. A backslash before the path names two hosts at once: browsers
 * take it for a slash, others for part of the host.
 */
const SCHEME_AND_AUTHORITY = /^https?:\/\/([^/?#\\]+)(\\?)/i;

/** An authority without a password, which would become public; a user name alone is taken by the service. */
const USER_INFO = /^(?:[^:@]+@)?[^@]*$/;

// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f]/;

/** Half of a surrogate pair, which JSON can spell: it can't be sent as UTF-8. */
const LONE_SURROGATE = /\p{Surrogate}/u;

/** Longest `Location` of a redirect: each character that is not ASCII becomes several bytes of it. */
const MAX_LOCATION_BYTES = 8_192;

/**
 * What nearly all URLs look like: named host, no port or user, plain ASCII. They need none of the other looks, which cost six
 * times as much. Labels begin with a letter, so that no host is a number (an IPv4 address may be wrong), and none is Punycode.
 */
const PLAIN_URL =
  /^https?:\/\/(?!xn--)[a-z][a-z0-9-]*(?:\.(?!xn--)[a-z][a-z0-9-]*)+(?:[/?#][!-~]*)?$/i;

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
  if (match === null || match[2] !== '') {
    const hint = /^[\w-]+(\.[\w-]+)+(\/|$)/.test(cell) ? '; is https:// missing?' : '';
    return `not an absolute http or https URL: ${shown(cell)}${hint}`;
  }
  if (!USER_INFO.test(match[1] ?? '')) {
    return `the target URL holds a password: ${shown(hideCredentials(cell))}`;
  }
  const url = LONE_SURROGATE.test(cell) ? null : URL.parse(cell);
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

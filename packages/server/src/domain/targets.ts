import * as hostnames from './hostnames.ts';

/** Scheme and authority. A backslash before the path is a slash to browsers only, so such a URL names two hosts, and is rejected. */
const SCHEME_AND_AUTHORITY = /^https?:\/\/([^/?#\\]+)(\\?)/i;

/** C0, DEL and C1: the URL parser removes some of them silently, so the stored text would not be what is followed. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: finding them is the point
const CONTROL_CHARACTERS = /[\u0000-\u001f\u007f-\u009f]/;

/** An authority without a password: links are public. A user name alone is fine: some sites are addressed with one. */
const USER_INFO = /^(?:[^:@]+@)?[^@]*$/;

const OUTER_WHITESPACE = /^\s|\s$/;

/** Longest `Location`: it has to fit into the header buffers of proxies, and a character can become twelve bytes of it. */
const MAX_LOCATION_BYTES = 8_192;

const HOST_TOO_LONG = `must have at most ${hostnames.MAX_HOSTNAME_LENGTH} characters in a host that is not ASCII, and at most ${hostnames.MAX_LABEL_LENGTH} between its dots`;

export interface TargetRules {
  isOwnHost: (url: URL) => boolean;
  isAllowedHost: (url: URL) => boolean;
  /** Schemes with hosts that were found to be fine under these rules. The links of a batch often lead to a few hosts. */
  fineOrigins?: Set<string> | undefined;
}

/** A target in printable ASCII: when its scheme and host are fine, so is the rest, which a URL parser and a header take as it is. */
const PLAIN_TARGET = /^(https?:\/\/[a-z0-9.-]+(?::\d+)?)(?:[/?#][\x21-\x7e]*)?$/;

/** Why a target URL is rejected. The schema checks its length. What is behind the host is not checked: the service redirects, it never fetches. */
export function checkTarget(target: string, rules: TargetRules): string | undefined {
  const origin = PLAIN_TARGET.exec(target)?.[1];
  if (origin !== undefined && rules.fineOrigins?.has(origin)) return undefined;
  if (CONTROL_CHARACTERS.test(target)) return 'must not contain control characters';
  if (OUTER_WHITESPACE.test(target)) return 'must not begin or end with whitespace';
  const match = SCHEME_AND_AUTHORITY.exec(target);
  if (match === null || match[2] !== '') return 'must be an absolute http or https URL';
  if (!USER_INFO.test(match[1] ?? '')) return 'must not contain a password';
  if (hostnames.isTooLongToParse(hostIn(match[1] ?? ''))) return HOST_TOO_LONG;
  const url = URL.parse(target);
  if (url === null) return 'must be an absolute http or https URL';
  if (rules.isOwnHost(url)) return "must not point to one of the service's own domains";
  if (!rules.isAllowedHost(url)) return 'must not point to a host that this service does not allow';
  const location = HEADER_SAFE.test(target) ? target : url.href;
  if (location.length > MAX_LOCATION_BYTES) {
    return `must have at most ${MAX_LOCATION_BYTES} bytes once it is percent-encoded`;
  }
  if (origin !== undefined) rules.fineOrigins?.add(origin);
  return undefined;
}

const hostIn = (authority: string) =>
  authority.slice(authority.lastIndexOf('@') + 1).replace(/:\d*$/, '');

/** Printable ASCII without a space can stand in a header as it is. */
const HEADER_SAFE = /^[\x21-\x7e]+$/;

/** `Location` of a redirect: a URL parser writes what no header can carry. */
export const locationOf = (target: string) =>
  HEADER_SAFE.test(target) ? target : (URL.parse(target)?.href ?? encodeURI(target));

/** A `Location` with the parameters of a query that it lacks, before its fragment; without them where a header could not hold it. */
export function withQuery(location: string, query: string): string {
  if (query.length > MAX_LOCATION_BYTES) return location;
  const [, base = '', fragment = ''] = /^([^#]*)(.*)$/s.exec(location) ?? [];
  const start = base.indexOf('?');
  const own = new Set(new URLSearchParams(start === -1 ? '' : base.slice(start)).keys());
  const parts = query.split('&').filter((part) => part !== '');
  // Behind a first `&`, a `?` is a part of the name.
  const names = [...new URLSearchParams(`&${query}`).keys()];
  const isNew = (part: string, at: number) => HEADER_SAFE.test(part) && !own.has(names[at] ?? '');
  const added = parts.filter(isNew).join('&');
  if (added === '') return location;
  const separator = start === -1 ? '?' : /[?&]$/.test(base) ? '' : '&';
  const longer = base + separator + added + fragment;
  return longer.length > MAX_LOCATION_BYTES ? location : longer;
}

/** Lists of hosts that the operator allows or denies as targets. Each name also stands for its subdomains. */
export interface TargetHosts {
  /** When it has any, links may lead to these only. */
  allow: readonly string[];
  /** Links may not lead to these, even if allowed. */
  deny: readonly string[];
}

export const EVERY_TARGET_HOST: TargetHosts = Object.freeze({ allow: [], deny: [] });

/** Checks hosts against the lists. `notexample.com` is no subdomain of `example.com`; ports play no part. */
export function targetHostMatcher({ allow, deny }: TargetHosts): (url: URL) => boolean {
  const allowed = new Set(allow);
  const denied = new Set(deny);
  return ({ hostname }) =>
    !isUnder(denied, hostname) && (allowed.size === 0 || isUnder(allowed, hostname));
}

/** Looks up the host, then each domain above it. No domain is longer than a hostname can be, so the rest of a longer host is left out. */
function isUnder(domains: ReadonlySet<string>, hostname: string): boolean {
  if (domains.size === 0) return false;
  let domain = hostnames.canonicalHostname(hostname).slice(-hostnames.MAX_HOSTNAME_LENGTH);
  for (;;) {
    if (domains.has(domain)) return true;
    const dot = domain.indexOf('.');
    if (dot === -1) return false;
    domain = domain.slice(dot + 1);
  }
}

/** Normalises hosts that stand between commas or spaces. `undefined` when one is no plain host, such as one with a port or a scheme. */
export function parseHostList(text: string): string[] | undefined {
  const hosts: string[] = [];
  for (const entry of text.split(/[\s,]+/).filter((part) => part !== '')) {
    const host = hostnames.normalizeHost(entry);
    if (host === undefined || /[*]|:\d+$/.test(host)) return undefined;
    hosts.push(host);
  }
  return hosts;
}

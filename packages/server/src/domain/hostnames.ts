import { unwrapIpv4 } from './ip-addresses.ts';

/** Longest hostname, in characters (RFC 1035 section 2.3.4). */
const MAX_HOSTNAME_LENGTH = 253;

/** What a `host` or `host:port` may be made of before it is given to the URL parser: anything that would end or split the authority is out. */
const AUTHORITY = /^[^\s/?#\\@<>]+$/;

/**
 * One spelling for every way to write a host: lower case, punycode, no trailing dot, no port 80 or 443, no IPv4 address as IPv6.
 * The scheme's default port is dropped for both schemes, because TLS may end in front of this server.
 *
 * @param host a `Host` header or the authority of a URL, such as `Go.Example.:443`
 * @returns `undefined` when it is not a host
 */
export function normalizeHost(host: string): string | undefined {
  if (!AUTHORITY.test(host)) return undefined;
  const url = URL.parse(`http://${host}`);
  if (url === null) return undefined;
  const hostname = canonicalHostname(url.hostname);
  if (hostname === '') return undefined;
  return url.port === '' || url.port === '443' ? hostname : `${hostname}:${url.port}`;
}

/**
 * Hostname of a custom domain as it is stored, or `undefined` when it can't be one. A port is allowed,
 * for services that don't run on 80 or 443.
 */
export function parseDomainHostname(input: string): string | undefined {
  const host = normalizeHost(input);
  if (host === undefined || host.replace(/:\d+$/, '').length > MAX_HOSTNAME_LENGTH)
    return undefined;
  return host.includes('..') ? undefined : host;
}

/** `true` for a URL that points back at the service. */
export type IsOwnHost = (url: URL) => boolean;

/**
 * Recognises the service's own short domains in a target, in any spelling, so that no link can lead into a loop.
 * An own host without a port is rejected on every port; one with a port only on that port, so that a service on
 * `localhost:8787` can still link to another program on `localhost`.
 *
 * @param hosts normalised hosts, see {@link normalizeHost}
 */
export function ownHostMatcher(hosts: Iterable<string>): IsOwnHost {
  const own = new Set(hosts);
  return (url) => {
    const hostname = canonicalHostname(url.hostname);
    return own.has(hostname) || (url.port !== '' && own.has(`${hostname}:${url.port}`));
  };
}

/** The host of a parsed URL without trailing dots, and as an IPv4 address if it is one in an IPv6 address. */
export function canonicalHostname(hostname: string): string {
  if (hostname.startsWith('[')) return unwrapIpv4(hostname);
  return hostname.endsWith('.') ? hostname.replace(/\.+$/, '') : hostname;
}

/** Longest hostname, in characters (RFC 1035 section 2.3.4). */
const MAX_HOSTNAME_LENGTH = 253;

/** What a `host` or `host:port` may be made of before it is handed to the URL parser: anything that would end or split the authority is out. */
const AUTHORITY = /^[^\s/?#\\@<>]+$/;

/**
 * One spelling for every way to write a host: lower case, punycode, no trailing dot, no port 80 or 443, and IPv4 for an
 * IPv4-mapped IPv6 address.
 * The scheme's default port is dropped for both schemes, because TLS may end in front of this server.
 *
 * @param host a `Host` header or the authority of a URL, such as `Go.Example.:443`
 * @returns `undefined` when it is not a host
 */
export function normalizeHost(host: string): string | undefined {
  if (!AUTHORITY.test(host)) return undefined;
  const url = URL.parse(`http://${host}`);
  if (url === null) return undefined;
  const hostname = ipv4Of(url.hostname) ?? withoutTrailingDots(url.hostname);
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
 * An own host without a port is refused on every port; one with a port only on that port, so that a service on
 * `localhost:8787` can still link to another program on `localhost`.
 *
 * @param hosts normalised hosts, see {@link normalizeHost}
 */
export function ownHostMatcher(hosts: Iterable<string>): IsOwnHost {
  const own = new Set(hosts);
  return (url) => {
    const hostname = withoutTrailingDots(url.hostname);
    return own.has(hostname) || (url.port !== '' && own.has(`${hostname}:${url.port}`));
  };
}

/** The IPv4 address in an IPv4-mapped IPv6 address (RFC 4291 section 2.5.5.2), as the URL parser spells it. */
function ipv4Of(hostname: string): string | undefined {
  const [, high, low] = /^\[::ffff:([\da-f]{1,4}):([\da-f]{1,4})\]$/.exec(hostname) ?? [];
  if (high === undefined || low === undefined) return undefined;
  return [high, low]
    .map((word) => Number.parseInt(word, 16))
    .flatMap((word) => [word >> 8, word & 0xff])
    .join('.');
}

function withoutTrailingDots(hostname: string): string {
  return hostname.endsWith('.') ? hostname.replace(/\.+$/, '') : hostname;
}

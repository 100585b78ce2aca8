/** Longest hostname, in characters (RFC 1035 section 2.3.4). */
export const MAX_HOSTNAME_LENGTH = 253;

/** Longest label of a hostname, which is what stands between two dots, in characters (RFC 1035 section 2.3.4). */
export const MAX_LABEL_LENGTH = 63;

const LONGER_THAN_DNS = new RegExp(
  `^.{${MAX_HOSTNAME_LENGTH + 1}}|(?:^|\\.)[^.]{${MAX_LABEL_LENGTH + 1}}`,
  'su',
);

/** A host that a URL parser reads in one pass: ASCII that isn't percent-encoded. */
const ONE_PASS_HOST = /^[\x21-\x24\x26-\x7e]*$/;

/** Characters that have no place in a hostname and are left out of it (UTS 46). The two joiners stay. */
const LEFT_OUT = /(?:(?![\u200c\u200d])\p{Default_Ignorable_Code_Point})+/gu;

/** Finds what is longer than any name before it is normalised: at most three characters become one. Marks in a row are sorted, in quadratic time. */
const FAR_TOO_LONG = new RegExp(
  `^.{${4 * MAX_HOSTNAME_LENGTH}}|(?:^|[^\\p{Mark}ﾞﾟ])[\\p{Mark}ﾞﾟ]{${MAX_LABEL_LENGTH + 1}}`,
  'su',
);

/**
 * Whether a host that is not ASCII, as it was sent, is longer than DNS allows, before punycode, which has no fewer characters. A URL parser needs
 * time in proportion to the square of a label's length for such a host, 5 ms for 2,000 characters; this needs linear time.
 */
export function isTooLongToParse(host: string): boolean {
  if (ONE_PASS_HOST.test(host)) return false;
  // A broken escape is in no valid host; its characters are counted as they are. UTS 46 maps the mark U+0345 to a letter before it normalises.
  const visible = (percentDecoded(host) ?? host).replace(LEFT_OUT, '').replaceAll('\u0345', 'ι');
  if (FAR_TOO_LONG.test(visible)) return true;
  const normal = visible.normalize('NFKC');
  if (ONE_PASS_HOST.test(normal)) return false;
  if (FAR_TOO_LONG.test(normal)) return true;
  const name = normal.toLowerCase().normalize('NFKC').replaceAll('。', '.');
  return LONGER_THAN_DNS.test(canonicalHostname(name));
}

/** `undefined` for a broken escape. */
export function percentDecoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** What a `host` or `host:port` may be made of before it is given to the URL parser: anything that would end or split the authority is out. */
const AUTHORITY = /^[^\s/?#\\@<>]+$/;

/**
 * One spelling for every way to write a `Host` header or the authority of a URL: lower case, punycode, no trailing dot, no port 80 or 443 since
 * TLS may end in front of this server, no IPv4 address as IPv6. `undefined` when it is not a host.
 */
export function normalizeHost(host: string): string | undefined {
  if (!AUTHORITY.test(host)) return undefined;
  const url = URL.parse(`http://${host}`);
  if (url === null) return undefined;
  const hostname = canonicalHostname(url.hostname);
  if (hostname === '') return undefined;
  return url.port === '' || url.port === '443' ? hostname : `${hostname}:${url.port}`;
}

/** The host of a URL in that one spelling. */
export const hostOfUrl = (url: string) => normalizeHost(new URL(url).host);

/** What a domain can be: labels of letters, digits, `-` and `_`, or an IPv6 address; then a port other than 0. */
const DOMAIN = new RegExp(
  `^(?:[a-z0-9_-]{1,${MAX_LABEL_LENGTH}}(?:\\.[a-z0-9_-]{1,${MAX_LABEL_LENGTH}})*|\\[[\\da-f:]+\\])(?::[1-9]\\d*)?$`,
);

/** Hostname of a custom domain as it is stored, perhaps with a port; `undefined` when it can't be one. */
export function parseDomainHostname(input: string): string | undefined {
  const host = normalizeHost(input);
  if (host === undefined || !DOMAIN.test(host)) return undefined;
  return withoutPort(host).length > MAX_HOSTNAME_LENGTH ? undefined : host;
}

export const withoutPort = (host: string) => host.replace(/:\d+$/, '');

/** Recognises own hosts in a target: a link to one is a loop. One with a port is own on that port only: other programs may be on the same host. */
export function ownHostMatcher(hosts: Iterable<string>): (url: URL) => boolean {
  const own = new Set(hosts);
  return (url) => {
    const hostname = canonicalHostname(url.hostname);
    return own.has(hostname) || (url.port !== '' && own.has(`${hostname}:${url.port}`));
  };
}

/** The host of a parsed URL without trailing dots, and as an IPv4 address if it is one in an IPv6 address. */
export function canonicalHostname(hostname: string): string {
  if (hostname.startsWith('[')) return unwrapIpv4(hostname);
  // A pattern would look again from each of the dots before the last ones, and anybody may send thousands of them.
  let { length } = hostname;
  while (hostname[length - 1] === '.') length -= 1;
  return hostname.slice(0, length);
}

/** IPv6 with an IPv4 address at its end: mapped and compatible (RFC 4291 section 2.5.5), translated (RFC 2765), and NAT64 (RFC 6052). */
const IPV4_IN_IPV6 = /^\[(?:::(?:ffff:(?:0:)?)?|64:ff9b::)([\da-f]{1,4}):([\da-f]{1,4})\]$/;

/** `127.0.0.1` for `[::ffff:7f00:1]`: systems connect to the same machine, so a list that names one has to know the other. Any other stays as it is. */
export function unwrapIpv4(hostname: string): string {
  const [, ...halves] = IPV4_IN_IPV6.exec(hostname) ?? [];
  const [high = 0, low = 0] = halves.map((half) => Number.parseInt(half, 16));
  // `::1` and the like have no IPv4 address in them, although they look like one behind a prefix: it would begin with 16 zeros.
  return high === 0 ? hostname : [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

export type OwnHosts = ReturnType<typeof ownHostsOf>;

/** The hosts this service serves: that of the public URL, and the custom domains. All are normalised. */
export function ownHostsOf(
  publicUrl: string,
  customDomains: readonly { hostname: string; removed?: boolean | undefined }[],
) {
  const publicHost = hostOfUrl(publicUrl) ?? '';
  // Links of the default domain redirect on the public URL, even if that was a custom domain before.
  const others = customDomains.filter(({ hostname }) => hostname !== publicHost);
  const isRemoved = new Map(others.map(({ hostname, removed = false }) => [hostname, removed]));
  const domains = [...isRemoved.keys()].filter((hostname) => !isRemoved.get(hostname));
  const hosts = [publicHost, ...domains];
  return {
    hosts,
    isOwnHost: ownHostMatcher(hosts),
    isCustomDomain: (host: string) => isRemoved.get(host) === false,
    /** Whether it is the host of the public URL and a custom domain: addresses of either are on it. */
    isBoth: (host: string) => host === publicHost && others.length < customDomains.length,
    isRemoved: (host: string) => isRemoved.get(host) === true,
  };
}

/** What an operator has to know where the host of the public URL is a custom domain, too: that can't be undone without losing links. */
export function sharedHostWarning(
  publicUrl: string,
  customDomains: readonly { hostname: string; account_id: string }[],
): string | undefined {
  const { isBoth } = ownHostsOf(publicUrl, customDomains);
  const shared = customDomains.find(({ hostname }) => isBoth(hostname));
  if (shared === undefined) return undefined;
  return `${shared.hostname}, the host of the public URL, is also a custom domain of account ${shared.account_id}: at an address that both have, only the link of the default domain is found`;
}

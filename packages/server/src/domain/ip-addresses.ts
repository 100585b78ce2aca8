/** An IPv6 address in brackets, as a URL parser writes it: lower case, without leading zeros, the longest run of zeros as `::`. */
const IPV6 = /^\[([\da-f:]+)\]$/;

/**
 * Prefixes of six groups behind which the last 32 bits are an IPv4 address: IPv4-mapped and -compatible (RFC 4291 section 2.5.5),
 * IPv4-translated (RFC 2765), and the well-known prefix of NAT64 (RFC 6052).
 */
const IPV4_PREFIXES = ['0:0:0:0:0:ffff', '0:0:0:0:0:0', '0:0:0:0:ffff:0', '64:ff9b:0:0:0:0'];

/**
 * The IPv4 address that an IPv6 address stands for, such as `127.0.0.1` for `[::ffff:7f00:1]`; anything else as it is. Systems
 * connect to the same machine for both, so a list that names one has to know the other.
 *
 * @param hostname of a parsed URL
 */
export function unwrapIpv4(hostname: string): string {
  const address = IPV6.exec(hostname)?.[1];
  if (address === undefined) return hostname;
  const groups = groupsOf(address);
  const [high = 0, low = 0] = groups.slice(6).map((group) => Number.parseInt(group, 16));
  // `::` and `::1` have no IPv4 address in them, although the prefix is that of one.
  if (!IPV4_PREFIXES.includes(groups.slice(0, 6).join(':')) || high === 0) return hostname;
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** The eight groups of an address. */
function groupsOf(address: string): string[] {
  const [head = '', tail] = address.split('::');
  const before = head === '' ? [] : head.split(':');
  if (tail === undefined) return before;
  const after = tail === '' ? [] : tail.split(':');
  return [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after];
}

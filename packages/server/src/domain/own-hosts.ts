import { type IsOwnHost, normalizeHost, ownHostMatcher } from './hostnames.ts';

/** The hosts this service answers on. */
export interface OwnHosts {
  isOwnHost: IsOwnHost;
  /** `true` when the normalised host is a custom domain. */
  isCustomDomain(host: string): boolean;
}

/** The service's own hosts: that of the public URL, and the custom domains. */
export function ownHostsOf(
  publicUrl: string,
  customDomains: readonly { hostname: string }[],
): OwnHosts {
  const publicHost = normalizeHost(new URL(publicUrl).host);
  const domains = new Set(customDomains.map((domain) => domain.hostname));
  return {
    isOwnHost: ownHostMatcher(publicHost === undefined ? domains : [publicHost, ...domains]),
    isCustomDomain: (host) => domains.has(host),
  };
}

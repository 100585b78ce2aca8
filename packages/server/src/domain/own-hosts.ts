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
  // Links of the default domain redirect on the public URL, even if it was registered as a custom domain by mistake.
  if (publicHost !== undefined) domains.delete(publicHost);
  return {
    isOwnHost: ownHostMatcher(publicHost === undefined ? domains : [publicHost, ...domains]),
    isCustomDomain: (host) => domains.has(host),
  };
}

import { type IsOwnHost, normalizeHost, ownHostMatcher } from './domain/hostnames.ts';
import type { Store } from './store/store.ts';

/** How long a list of custom domains is trusted: a domain that was just added counts within this time. */
const MAX_AGE_MS = 1_000;

/** The hosts under which this service is reached. */
export interface OwnHosts {
  isOwnHost: IsOwnHost;
  /** `true` when the normalised host is a custom domain. */
  isCustomDomain(host: string): boolean;
}

/**
 * The service's own hosts as the store knows them, read at most once a second. While the store can't be read, the last
 * list goes on being used, so that cached redirects outlive a database that is down.
 */
export function createOwnHosts(
  store: Pick<Store, 'listDomains'>,
  publicUrl: string,
  now: () => number,
): () => Promise<OwnHosts> {
  const publicHost = normalizeHost(new URL(publicUrl).host);
  const defaultHosts = publicHost === undefined ? [] : [publicHost];
  let current: OwnHosts | undefined;
  let readAt = 0;
  let reading: Promise<OwnHosts> | undefined;

  async function read(): Promise<OwnHosts> {
    const domains = new Set((await store.listDomains()).map((domain) => domain.hostname));
    readAt = now();
    current = {
      isOwnHost: ownHostMatcher([...defaultHosts, ...domains]),
      isCustomDomain: (host) => domains.has(host),
    };
    return current;
  }

  return async () => {
    if (current !== undefined && now() - readAt < MAX_AGE_MS) return current;
    const stale = current;
    reading ??= read().finally(() => {
      reading = undefined;
    });
    return stale === undefined ? reading : reading.catch(() => stale);
  };
}

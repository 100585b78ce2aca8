import { type OwnHosts, ownHostsOf } from '../domain/hostnames.ts';
import { DOMAIN_ID } from '../domain/ids.ts';
import type { Logger } from '../logger.ts';
import type { RedirectCache } from '../store/redirect-cache.ts';
import type { Store } from '../store/store.ts';
import { repeated } from './repeated.ts';

/** Wait between two questions to the store, in milliseconds: a change reaches every redirect well within a second. */
export const FOLLOW_MS = 300;

interface LinkFollowerOptions {
  store: Pick<Store, 'linkChanges' | 'listDomains'>;
  cache: Pick<RedirectCache, 'apply'>;
  publicUrl: string;
  logger?: Pick<Logger, 'error' | 'info'> | undefined;
}

/** Asks the store what changed, and keeps the redirect cache and the list of custom domains up to date. No redirect waits for it. */
export function linkFollower({ store, cache, publicUrl, logger }: LinkFollowerOptions) {
  let since = 0;
  let known: OwnHosts | undefined;

  async function readOwnHosts(): Promise<OwnHosts> {
    known = ownHostsOf(publicUrl, await store.listDomains({ removed: true }));
    return known;
  }

  async function act(): Promise<void> {
    const { latest, changed } = await store.linkChanges(since);
    cache.apply(changed);
    const isDomain = (id: string) => id.startsWith(DOMAIN_ID);
    if (changed === 'all' || changed.some(isDomain)) await readOwnHosts();
    // This is set last: if the domains can't be read, the next question asks for the same changes again.
    since = latest;
  }

  return {
    ...repeated({ act, everyMs: FOLLOW_MS, what: 'reading changes of links', logger }),
    /** The hosts of the service as last known. They are read now only if they were never read before. */
    ownHosts: (): OwnHosts | Promise<OwnHosts> => known ?? readOwnHosts(),
    /** The same where nobody can wait: `undefined` if they were never read. */
    knownOwnHosts: () => known,
  };
}

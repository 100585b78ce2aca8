import { type OwnHosts, ownHostsOf } from '../domain/hostnames.ts';
import { DOMAIN_ID } from '../domain/ids.ts';
import type { Logger } from '../logger.ts';
import type { RedirectCache } from '../store/redirect-cache.ts';
import type { Store } from '../store/store.ts';
import { Repeated } from './repeated.ts';

/** Wait between two questions to the store, in milliseconds: a change reaches every redirect well within a second. */
export const FOLLOW_MS = 300;

export interface LinkFollowerOptions {
  store: Pick<Store, 'linkChanges' | 'listDomains'>;
  cache: Pick<RedirectCache, 'apply'>;
  publicUrl: string;
  logger?: Pick<Logger, 'error' | 'info'> | undefined;
}

/** Asks the store what changed, and keeps the redirect cache and the list of custom domains up to date. No redirect waits for it. */
export class LinkFollower {
  readonly #options: LinkFollowerOptions;
  readonly #asking: Repeated;
  #since = 0;
  #ownHosts: OwnHosts | undefined;

  constructor(options: LinkFollowerOptions) {
    this.#options = options;
    const { logger } = options;
    const act = () => this.#askOnce();
    this.#asking = new Repeated({
      ...{ act, everyMs: FOLLOW_MS, what: 'reading changes of links', logger },
    });
  }

  /** Resolves after the first question, whether or not the store has responded. */
  start(): Promise<void> {
    return this.#asking.start();
  }

  stop(): void {
    this.#asking.stop();
  }

  /** The hosts of the service as last known. They are read now only if they were never read before. */
  ownHosts(): OwnHosts | Promise<OwnHosts> {
    return this.#ownHosts ?? this.#readOwnHosts();
  }

  /** The same where nobody can wait: `undefined` if they were never read. */
  knownOwnHosts(): OwnHosts | undefined {
    return this.#ownHosts;
  }

  async #askOnce(): Promise<void> {
    const { store, cache } = this.#options;
    const { latest, changed } = await store.linkChanges(this.#since);
    cache.apply(changed);
    const isDomain = (id: string) => id.startsWith(DOMAIN_ID);
    if (changed === 'all' || changed.some(isDomain)) await this.#readOwnHosts();
    // This is set last: if the domains can't be read, the next question asks for the same changes again.
    this.#since = latest;
  }

  async #readOwnHosts(): Promise<OwnHosts> {
    const { store, publicUrl } = this.#options;
    this.#ownHosts = ownHostsOf(publicUrl, await store.listDomains({ removed: true }));
    return this.#ownHosts;
  }
}

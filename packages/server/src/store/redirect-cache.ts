import { BoundedCache } from './bounded-cache.ts';
import type { Redirect, Store } from './store.ts';

/**
 * How long a found link is served without looking again, in milliseconds: `links disable` and other changes, also by
 * another process, reach every redirect within this time.
 */
export const REDIRECT_MAX_AGE_MS = 1_000;

/** The same for a code that leads nowhere: short, since the link may be created the next moment, by another process. */
export const UNKNOWN_CODE_MAX_AGE_MS = 250;

/** Links kept: some 10 MB with ordinary target URLs. */
const MAX_LINKS = 20_000;

/** Unknown codes are kept apart, so that a scan of random codes can't push out the links that people follow. */
const MAX_UNKNOWN_CODES = 2_000;

export interface RedirectCacheOptions {
  store: Pick<Store, 'findRedirect'>;
  /** Milliseconds, never going back. @default performance.now */
  now?: (() => number) | undefined;
}

/** Keeps what codes lead to for a moment, and looks each up once however many ask for it at the same time. */
export class RedirectCache {
  readonly #store: RedirectCacheOptions['store'];
  readonly #now: () => number;
  readonly #links: BoundedCache<Redirect>;
  readonly #unknown: BoundedCache<true>;
  readonly #lookups = new Map<string, Promise<Redirect | undefined>>();

  constructor({ store, now = () => performance.now() }: RedirectCacheOptions) {
    this.#store = store;
    this.#now = now;
    this.#links = new BoundedCache({ maxEntries: MAX_LINKS, maxAgeMs: REDIRECT_MAX_AGE_MS, now });
    this.#unknown = new BoundedCache({
      maxEntries: MAX_UNKNOWN_CODES,
      maxAgeMs: UNKNOWN_CODE_MAX_AGE_MS,
      now,
    });
  }

  /** The same answer as `Store.findRedirect`, at most {@link REDIRECT_MAX_AGE_MS} old. */
  async find(code: string): Promise<Redirect | undefined> {
    const known = this.#links.get(code);
    if (known !== undefined) return known;
    if (this.#unknown.get(code)) return undefined;
    let lookup = this.#lookups.get(code);
    if (lookup === undefined) {
      lookup = this.#lookUp(code).finally(() => this.#lookups.delete(code));
      this.#lookups.set(code, lookup);
    }
    return lookup;
  }

  async #lookUp(code: string): Promise<Redirect | undefined> {
    const readAt = this.#now();
    const redirect = await this.#store.findRedirect(code);
    if (redirect === undefined) this.#unknown.set(code, true, readAt);
    else this.#links.set(code, redirect, readAt);
    return redirect;
  }
}

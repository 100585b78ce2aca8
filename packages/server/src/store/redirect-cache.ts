import { BoundedCache } from './bounded-cache.ts';
import type { LinkWatcher, Redirect, Store } from './store.ts';

/**
 * How long a found link is served without looking again, in milliseconds: `links disable` and other changes, also by
 * another process, reach every redirect within this time.
 */
export const REDIRECT_MAX_AGE_MS = 1_000;

/** The same while the store tells of changes as they happen, so that a hot link costs one look-up a minute. */
export const WATCHED_REDIRECT_MAX_AGE_MS = 60_000;

/** The same for a code that leads nowhere: short, since the link may be created the next moment, by another process. */
export const UNKNOWN_CODE_MAX_AGE_MS = 250;

/** How long a link that was looked up is served while the store can't be asked, in milliseconds. */
export const OUTAGE_MAX_AGE_MS = 3_600_000;

/** Who follows a link that is in the cache waits this long for the store, no longer; and not at all for a while after. */
const PATIENCE_MS = 300;
const OUTAGE_RETRY_MS = 500;

/** Links kept: some 10 MB with ordinary target URLs. */
const MAX_LINKS = 20_000;

/** Unknown codes are kept apart, so that a scan of random codes can't push out the links that people follow. */
const MAX_UNKNOWN_CODES = 2_000;

export interface RedirectCacheOptions {
  store: Pick<Store, 'findRedirect'>;
  /** Milliseconds, never going back. @default performance.now */
  now?: (() => number) | undefined;
}

/** What a code led to, and when that was true. */
interface Entry {
  redirect: Redirect;
  readAt: number;
}

/** A look-up that is under way. */
interface Lookup {
  answer: Promise<Redirect | undefined>;
  /** Set when the link was changed meanwhile: the answer may be from before. */
  changed: boolean;
}

/** Keeps what codes lead to for a moment, and looks each up once however many ask for it at the same time. */
export class RedirectCache implements LinkWatcher {
  readonly #store: RedirectCacheOptions['store'];
  readonly #now: () => number;
  readonly #links: BoundedCache<Entry>;
  readonly #unknown: BoundedCache<true>;
  readonly #lookups = new Map<string, Lookup>();
  /** Since when every change is told; what was read before may have changed unseen. */
  #connectedAt: number | undefined;
  #outageUntil = Number.NEGATIVE_INFINITY;

  constructor({ store, now = () => performance.now() }: RedirectCacheOptions) {
    this.#store = store;
    this.#now = now;
    this.#links = new BoundedCache({ maxEntries: MAX_LINKS, maxAgeMs: OUTAGE_MAX_AGE_MS, now });
    this.#unknown = new BoundedCache({
      maxEntries: MAX_UNKNOWN_CODES,
      maxAgeMs: UNKNOWN_CODE_MAX_AGE_MS,
      now,
    });
  }

  /**
   * The same answer as `Store.findRedirect`, at most {@link REDIRECT_MAX_AGE_MS} old. While the store can't be asked, or doesn't
   * answer, a link that is known goes on being served for {@link OUTAGE_MAX_AGE_MS}.
   */
  async find(code: string): Promise<Redirect | undefined> {
    const known = this.#links.get(code);
    if (known !== undefined && (this.#isFresh(known) || this.#now() < this.#outageUntil)) {
      return known.redirect;
    }
    if (this.#unknown.get(code)) return undefined;
    const answer = this.#lookUpOnce(code);
    return known === undefined ? answer : this.#answerOrKnown(answer, known);
  }

  changed(code: string): void {
    this.#links.delete(code);
    this.#unknown.delete(code);
    const lookup = this.#lookups.get(code);
    if (lookup !== undefined) lookup.changed = true;
  }

  connected(connected: boolean): void {
    this.#connectedAt = connected ? this.#now() : undefined;
  }

  #isFresh({ readAt }: Entry): boolean {
    const age = this.#now() - readAt;
    if (age < REDIRECT_MAX_AGE_MS) return true;
    const watched = this.#connectedAt !== undefined && readAt >= this.#connectedAt;
    return watched && age < WATCHED_REDIRECT_MAX_AGE_MS;
  }

  #lookUpOnce(code: string): Promise<Redirect | undefined> {
    const running = this.#lookups.get(code);
    if (running !== undefined) return running.answer;
    const lookup: Lookup = { answer: Promise.resolve(undefined), changed: false };
    lookup.answer = this.#lookUp(code, lookup).finally(() => this.#lookups.delete(code));
    this.#lookups.set(code, lookup);
    return lookup.answer;
  }

  async #lookUp(code: string, lookup: Lookup): Promise<Redirect | undefined> {
    const readAt = this.#now();
    const redirect = await this.#store.findRedirect(code);
    if (lookup.changed) return redirect;
    if (redirect === undefined) {
      this.#links.delete(code);
      this.#unknown.set(code, true, readAt);
    } else this.#links.set(code, { redirect, readAt }, readAt);
    return redirect;
  }

  async #answerOrKnown(
    answer: Promise<Redirect | undefined>,
    known: Entry,
  ): Promise<Redirect | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const patience = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('no answer')), PATIENCE_MS);
    });
    try {
      return await Promise.race([answer, patience]);
    } catch {
      this.#outageUntil = this.#now() + OUTAGE_RETRY_MS;
      // The look-up may go on; when it ends, nobody may be there to take its failure.
      answer.catch(() => undefined);
      return known.redirect;
    } finally {
      clearTimeout(timer);
    }
  }
}

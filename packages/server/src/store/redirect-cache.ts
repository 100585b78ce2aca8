import type { LinkChanges, Redirect, Store } from './store.ts';

/** How long links are served from memory while the store can't say what changed, in milliseconds. */
export const OUTAGE_MAX_AGE_MS = 3_600_000;

/** How long a code that leads nowhere is remembered, in milliseconds: short, since another process may create the link. */
export const UNKNOWN_CODE_MAX_AGE_MS = 250;

/** Links of a generation. Two are kept: some 100,000 links, or 50 MB with ordinary target URLs. */
export const GENERATION_LINKS = 50_000;

/** Characters of the target URLs of a generation: 32 MB, as a character takes up to two bytes. Long ones reach it before the count. */
export const GENERATION_CHARS = 16_000_000;

/** How long the store may take for a link that is still in memory, but may have changed, in milliseconds. Then it is served as it was. */
const STALE_AFTER_MS = 300;

/** Unknown codes are kept apart, so that a scan of random codes can't push out the links that people follow. */
const MAX_UNKNOWN_CODES = 2_000;

/** A link and its code or alias, as they are kept over a restart. `at`: when it was last up to date, if that is not now, in milliseconds since the epoch. */
export type CachedLink = [code: string, redirect: Redirect, at?: number];

/** A link in memory. It is up to date while it has the epoch of the cache. */
interface Kept {
  readonly redirect: Redirect;
  epoch: number;
  /** When it was up to date in an earlier run, if nothing is known of it since. */
  at?: number | undefined;
}

const CHANGED = -1;

/** Keeps links in memory until {@link apply} says that they changed, without which none is served. While the store is away, they stay as they were. */
export class RedirectCache {
  readonly #store: Pick<Store, 'findRedirect'>;
  readonly #now: () => number;
  /** When the recent generation is full, it becomes the older one, and links that were not followed since then are dropped. */
  #recent = new Map<string, Kept>();
  #older = new Map<string, Kept>();
  /** Characters of the target URLs that were added to the recent generation. A link that is added again counts again. */
  #recentChars = 0;
  #unknown = new Set<string>();
  #unknownUntil = Number.NEGATIVE_INFINITY;
  /** Replaced with every change: what the store found before may be outdated. */
  #lookups = new Map<string, Promise<Redirect | undefined>>();
  /** A new epoch begins when any link may have changed. */
  #epoch = 0;
  #hasAliases = false;
  #confirmedAt = Number.NEGATIVE_INFINITY;

  constructor(store: Pick<Store, 'findRedirect'>, now = () => performance.now()) {
    this.#store = store;
    this.#now = now;
  }

  /** The link of this code if it is in memory and up to date. `undefined` says nothing about the link. */
  get(code: string, now = this.#now()): Redirect | undefined {
    const kept = this.#inMemory(code, now);
    return kept?.epoch === this.#epoch ? kept.redirect : undefined;
  }

  has(code: string): boolean {
    return this.#inMemory(code, this.#now()) !== undefined;
  }

  async find(code: string): Promise<Redirect | undefined> {
    const kept = this.#inMemory(code, this.#now());
    if (kept?.epoch === this.#epoch) return kept.redirect;
    if (this.#now() < this.#unknownUntil && this.#unknown.has(code)) return undefined;
    const lookup = this.#lookUp(code);
    if (kept === undefined) return lookup;
    const late = new Promise<Redirect>((resolve) => {
      setTimeout(resolve, STALE_AFTER_MS, kept.redirect);
    });
    return Promise.race([lookup.catch(() => kept.redirect), late]);
  }

  /** Forgets the links that changed. Without changes, it confirms what is in memory. */
  apply(changed: LinkChanges['changed']): void {
    this.#confirmedAt = this.#now();
    if (changed.length === 0) return;
    this.#lookups = new Map();
    this.#unknown.clear();
    if (changed === 'all') {
      this.#epoch += 1;
      return;
    }
    // No code has an underscore, and every other id does. An alias belongs to its code as well.
    const ids = new Set(changed);
    const isOfMany = this.#hasAliases || changed.some((id) => id.includes('_'));
    for (const links of [this.#recent, this.#older]) {
      for (const code of changed) forget(links.get(code));
      if (!isOfMany) continue;
      for (const kept of links.values()) {
        if (kept.redirect.owners.some((id) => ids.has(id))) forget(kept);
      }
    }
  }

  /** The links that are up to date or nobody followed since {@link restore}, those that are followed most last: at most a generation of them. */
  links(): CachedLink[] {
    const links: CachedLink[] = [];
    let chars = 0;
    const older = [...this.#older].filter(([code]) => !this.#recent.has(code));
    for (const [code, { redirect, epoch, at }] of [...this.#recent, ...older]) {
      if (epoch !== this.#epoch && at === undefined) continue;
      chars += redirect.target_url.length;
      if (links.length === GENERATION_LINKS || chars > GENERATION_CHARS) break;
      links.push(at === undefined ? [code, redirect] : [code, redirect, at]);
    }
    return links.toReversed();
  }

  /** Takes the {@link links} of an earlier run. Each may have changed since, so it is only served while the store can't be asked. */
  restore(links: readonly CachedLink[]): void {
    for (const [code, redirect, at] of links) this.#keep(code, { redirect, epoch: CHANGED, at });
  }

  #inMemory(code: string, now: number): Kept | undefined {
    if (now - this.#confirmedAt >= OUTAGE_MAX_AGE_MS) return undefined;
    const recent = this.#recent.get(code);
    if (recent !== undefined) return recent;
    const older = this.#older.get(code);
    if (older !== undefined) this.#keep(code, older);
    return older;
  }

  /** However many ask for a code at the same time, the store is asked once. */
  #lookUp(code: string): Promise<Redirect | undefined> {
    const lookups = this.#lookups;
    const askedAt = this.#now();
    const ask = async () => {
      const redirect = await this.#store.findRedirect(code);
      if (lookups !== this.#lookups) return redirect;
      if (redirect === undefined) this.#keepUnknown(code, askedAt);
      else this.#keep(code, { redirect, epoch: this.#epoch });
      return redirect;
    };
    const lookup = lookups.get(code) ?? ask().finally(() => lookups.delete(code));
    lookups.set(code, lookup);
    return lookup;
  }

  #keep(code: string, kept: Kept): void {
    const chars = kept.redirect.target_url.length + (kept.redirect.code ? code.length : 0);
    if (this.#recent.size >= GENERATION_LINKS || this.#recentChars + chars > GENERATION_CHARS) {
      this.#older = this.#recent;
      this.#recent = new Map();
      this.#recentChars = 0;
    }
    this.#recentChars += chars;
    this.#hasAliases ||= kept.redirect.code !== undefined;
    this.#recent.set(code, kept);
  }

  /** All are forgotten together, so a code that comes late is remembered for a shorter time. */
  #keepUnknown(code: string, askedAt: number): void {
    this.#recent.delete(code);
    this.#older.delete(code);
    if (this.#now() >= this.#unknownUntil || this.#unknown.size >= MAX_UNKNOWN_CODES) {
      this.#unknown.clear();
      this.#unknownUntil = askedAt + UNKNOWN_CODE_MAX_AGE_MS;
    }
    this.#unknown.add(code);
  }
}

function forget(kept: Kept | undefined): void {
  if (kept !== undefined) Object.assign(kept, { epoch: CHANGED, at: undefined });
}

export interface BoundedCacheOptions {
  /** Entries kept; the one not used for longest makes place for a new one. */
  maxEntries: number;
  /** Age from which an entry is no longer used, in milliseconds. */
  maxAgeMs: number;
  /** Milliseconds, never going back. */
  now: () => number;
}

/** A map of bounded size whose entries expire. Being used keeps an entry in, but doesn't make it younger. */
export class BoundedCache<T> {
  readonly #options: BoundedCacheOptions;
  /** In the order of their last use: a map iterates in insertion order. */
  readonly #entries = new Map<string, { value: T; expiresAt: number }>();

  constructor(options: BoundedCacheOptions) {
    this.#options = options;
  }

  get(key: string): T | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    this.#entries.delete(key);
    if (entry.expiresAt <= this.#options.now()) return undefined;
    this.#entries.set(key, entry);
    return entry.value;
  }

  delete(key: string): void {
    this.#entries.delete(key);
  }

  /** @param readAt - When the value was true, from the same clock: its age counts from there. */
  set(key: string, value: T, readAt: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, expiresAt: readAt + this.#options.maxAgeMs });
    if (this.#entries.size <= this.#options.maxEntries) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      break;
    }
  }
}

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;

/** Fixed windows of a minute and a day, in UTC. A refused request counts nowhere. */
export class Quota {
  readonly windows: { name: string; ms: number; limit: number; start: number; used: number }[];
  readonly #now: () => number;

  /** @param now - milliseconds since the epoch */
  constructor(perMinute: number, perDay: number, now: () => number) {
    this.#now = now;
    this.windows = [
      { name: 'minute', ms: MINUTE_MS, limit: perMinute, start: 0, used: 0 },
      { name: 'day', ms: DAY_MS, limit: perDay, start: 0, used: 0 },
    ];
  }

  /** Counts a request; where a window is used up, the seconds until it ends. */
  take(): number | undefined {
    let waitSeconds: number | undefined;
    for (const window of this.#current()) {
      if (window.used < window.limit) continue;
      waitSeconds = Math.max(waitSeconds ?? 0, this.#left(window));
    }
    if (waitSeconds === undefined) for (const window of this.windows) window.used += 1;
    return waitSeconds;
  }

  unlimit(): void {
    for (const window of this.windows) window.limit = Number.POSITIVE_INFINITY;
  }

  /** As the usage resource states it. */
  usage(): Record<string, { used: number; limit: number | null; resets_at: string }> {
    const entries = this.#current().map(({ name, used, limit, start, ms }) => [
      name,
      { used, limit: finite(limit), resets_at: new Date(start + ms).toISOString() },
    ]);
    return Object.fromEntries(entries);
  }

  /** As `RateLimit` and `RateLimit-Policy` state it. */
  headers(): Record<string, string> {
    const limited = this.#current().filter(({ limit }) => Number.isFinite(limit));
    const state = limited.map(
      (window) => `"${window.name}";r=${window.limit - window.used};t=${this.#left(window)}`,
    );
    const policy = limited.map(({ name, limit, ms }) => `"${name}";q=${limit};w=${ms / 1000}`);
    return { 'ratelimit-policy': policy.join(', '), ratelimit: state.join(', ') };
  }

  #current() {
    for (const window of this.windows) {
      const start = Math.floor(this.#now() / window.ms) * window.ms;
      if (start !== window.start) {
        window.start = start;
        window.used = 0;
      }
    }
    return this.windows;
  }

  #left({ start, ms }: { start: number; ms: number }): number {
    return Math.max(1, Math.ceil((start + ms - this.#now()) / 1000));
  }
}

export function finite(limit: number): number | null {
  return Number.isFinite(limit) ? limit : null;
}

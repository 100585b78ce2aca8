/** Everything that the server has acknowledged. It must stay true. */
export class Ledger {
  /** Target of every acknowledged link, by code. */
  readonly links = new Map<string, string>();
  /** Targets of every accepted job, by job id. */
  readonly jobs = new Map<string, readonly string[]>();
  /** Target URLs of creates whose response was 503: nothing was stored. */
  readonly refused = new Set<string>();
  /** The number of links requested, with or without a response. */
  sentLinks = 0;
  /** The number of redirects requested, with or without a response. */
  sentClicks = 0;
  /** When the response of each redirect of this round arrived, on the clock of `performance.now()`. */
  clickTimes: number[] = [];
  /** A code that exists, for a visitor; `undefined` as long as there is none. */
  anyCode(): string | undefined {
    return this.#codes[Math.floor(Math.random() * this.#codes.length)];
  }

  readonly #codes: string[] = [];

  acknowledge(code: string, target: string): void {
    this.links.set(code, target);
    this.#codes.push(code);
  }
}

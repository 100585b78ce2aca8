/** Everything the server said it had done, which must be true for ever after. */
export class Ledger {
  /** Target of every acknowledged link, by code. */
  readonly links = new Map<string, string>();
  /** Targets of every accepted job, by job id. */
  readonly jobs = new Map<string, readonly string[]>();
  /** Targets of creates that were answered with 503: nothing was stored. */
  readonly refused = new Set<string>();
  /** Links asked for, whether or not an answer came. */
  sentLinks = 0;
  /** Redirects asked for, whether or not an answer came. */
  sentClicks = 0;
  /** When each redirect of this round was answered, on the clock of `performance.now()`. */
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

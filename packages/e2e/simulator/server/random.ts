/** A stream of random choices that a seed determines: the same seed makes the same choices, on every machine. */
export class Random {
  #state: number;

  constructor(seed: number) {
    // Neighbouring seeds must not begin with similar numbers.
    this.#state = Math.imul(seed ^ (seed >>> 16), 0x9e3779b1) >>> 0;
    for (let round = 0; round < 4; round += 1) this.next();
  }

  /** At least 0, less than 1 (mulberry32). */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = this.#state;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  }

  /** A whole number from `least` to `most`, both included. */
  integer(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** `true` with this probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of these. */
  pick<T>(items: readonly T[]): T {
    const item = items[Math.floor(this.next() * items.length)];
    if (item === undefined) throw new Error('nothing to pick from');
    return item;
  }

  /** One of these names, each as often as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (left < 0) return name;
    }
    throw new Error('no weights');
  }
}

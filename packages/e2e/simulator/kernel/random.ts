/** Random numbers that follow from a seed alone (sfc32), so that a run can be repeated to the last bit. */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** @param seeds - whole numbers; the same ones give the same numbers */
  constructor(...seeds: readonly number[]) {
    this.#a = 0x9e3779b9;
    this.#b = 0x243f6a88;
    this.#c = 0xb7e15162;
    for (const seed of seeds) {
      this.#a ^= seed >>> 0;
      this.#b = (this.#b + Math.floor(seed / 2 ** 32)) | 0;
      for (let round = 0; round < 6; round += 1) this.bits();
    }
  }

  /** 32 random bits, as a number from 0 to 2^32 - 1. */
  bits(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (this.#c << 21) | (this.#c >>> 11);
    this.#c = (this.#c + sum) | 0;
    return sum >>> 0;
  }

  /** From 0 to below 1. */
  next(): number {
    return this.bits() / 2 ** 32;
  }

  /** A whole number from 0 to `count - 1`. */
  below(count: number): number {
    return Math.floor(this.next() * count);
  }

  /** A whole number from `least` to `most`. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(items: readonly T[]): T {
    const item = items[this.below(items.length)];
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

/** Numbers of an entry: 64 bits of the address, 32 of the target, and the row. */
const WIDTH = 4;

/** What the entries may grow to: 268 million of them. Only those that are there take memory. */
const MAX_BYTES = 2 ** 32;

/** Finds addresses that rows of an import share, by hashes of 64 bits: some 20 bytes each, where texts would take hundreds of megabytes. */
export class AddressIndex {
  /** Entries, which grow in place and are never copied. The first one is not used. */
  readonly #entries = new Uint32Array(new ArrayBuffer(16_384, { maxByteLength: MAX_BYTES }));
  #size = 1;
  /** Numbers of entries, each at the first of the places of its hash that was free; 0 is a free place. */
  #places = new Uint32Array(1_024);

  /** Adds an address. Returns the earlier row that has it with another target. Rows begin at 1. */
  add(address: string, target: string, row: number): number | undefined {
    // At most nine of ten places are taken.
    if (this.#size * 10 >= this.#places.length * 9) this.#grow();
    const [high, low] = hash(address);
    const place = this.#placeOf(high, low);
    if (this.#places[place] !== 0) return this.find(address, target);
    this.#places[place] = this.#size;
    this.#entries.set([high, low, hash(target)[0], row], this.#size * WIDTH);
    this.#size += 1;
    return undefined;
  }

  /** The row that has an address with another target. */
  find(address: string, target: string): number | undefined {
    const at = (this.#places[this.#placeOf(...hash(address))] ?? 0) * WIDTH;
    if (at === 0 || this.#entries[at + 2] === hash(target)[0]) return undefined;
    return this.#entries[at + 3];
  }

  /** Where an address is, or would be. Steps of an odd length come to all places, of which there are a power of two. */
  #placeOf(high: number, low: number): number {
    const step = (low | 1) >>> 0;
    const { length } = this.#places;
    for (let place = high % length; ; place = (place + step) % length) {
      const at = (this.#places[place] ?? 0) * WIDTH;
      if (at === 0 || (this.#entries[at] === high && this.#entries[at + 1] === low)) return place;
    }
  }

  #grow(): void {
    this.#places = new Uint32Array(this.#places.length * 2);
    this.#entries.buffer.resize(this.#places.byteLength * WIDTH);
    for (let number = 1; number < this.#size; number += 1) {
      const at = number * WIDTH;
      this.#places[this.#placeOf(this.#entries[at] ?? 0, this.#entries[at + 1] ?? 0)] = number;
    }
  }
}

/** 64 bits of a text, as two numbers: fast, and not made to withstand an attack. The multipliers are those of MurmurHash3 and of FNV. */
function hash(text: string): [number, number] {
  let [one, other] = [0x9e3779b9, 0x85ebca6b];
  for (let at = 0; at < text.length; at += 1) {
    const unit = text.charCodeAt(at);
    one = Math.imul(one ^ unit, 0x01000193);
    other = Math.imul(other ^ unit, 0xcc9e2d51);
    other = (other << 15) | (other >>> 17);
  }
  return [mix(one ^ other) >>> 0, mix(Math.imul(other, 0x1b873593) ^ one) >>> 0];
}

function mix(value: number): number {
  const once = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  const twice = Math.imul(once ^ (once >>> 13), 0xc2b2ae35);
  return twice ^ (twice >>> 16);
}

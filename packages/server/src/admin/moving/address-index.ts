/** Numbers of an entry: 64 bits of the address, 32 of the target, and the row. */
const WIDTH = 4;

/**
 * Finds addresses that rows of one import share, in 16 bytes an address: a million links with their texts would take hundreds of megabytes.
 * Two addresses that are different are practically never taken for the same.
 */
export class AddressIndex {
  #entries = new Uint32Array(WIDTH * 1_024);
  #size = 0;

  /** Adds an address. Returns the earlier row that has it with another target. Rows begin at 1. */
  add(address: string, target: string, row: number): number | undefined {
    // At most four of five places are taken.
    if (this.#size * WIDTH * 5 >= this.#entries.length * 4) this.#grow();
    const [high, low] = hash(address);
    const [leadsTo] = hash(target);
    const at = placeOf(this.#entries, high, low);
    if (this.#entries[at + 3] === 0) {
      this.#entries.set([high, low, leadsTo, row], at);
      this.#size += 1;
      return undefined;
    }
    return this.#entries[at + 2] === leadsTo ? undefined : this.#entries[at + 3];
  }

  #grow(): void {
    const before = this.#entries;
    this.#entries = new Uint32Array(before.length * 2);
    for (let at = 0; at < before.length; at += WIDTH) {
      const entry = before.subarray(at, at + WIDTH);
      const [high = 0, low = 0, , row = 0] = entry;
      if (row !== 0) this.#entries.set(entry, placeOf(this.#entries, high, low));
    }
  }
}

/** Where an address is, or would be: the first place from that of its hash on that is its own or free. */
function placeOf(entries: Uint32Array, high: number, low: number): number {
  const places = entries.length / WIDTH;
  for (let place = high % places; ; place = (place + 1) % places) {
    const at = place * WIDTH;
    if (entries[at + 3] === 0 || (entries[at] === high && entries[at + 1] === low)) return at;
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

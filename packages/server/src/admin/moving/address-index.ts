/** Numbers of an entry: 64 bits of the address, 32 of the target, and the row. */
const WIDTH = 4;

const PIECE = 65_536;

/** Finds addresses that rows of an import share, by hashes of 64 bits: some 20 bytes each, where texts would take hundreds of megabytes. */
export class AddressIndex {
  /** Entries in pieces, none of which is ever copied. The first entry is not used. */
  readonly #pieces = [new Uint32Array(PIECE * WIDTH)];
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
    if (this.#size % PIECE === 0) this.#pieces.push(new Uint32Array(PIECE * WIDTH));
    this.#pieceOf(this.#size).set([high, low, hash(target)[0], row], startOf(this.#size));
    this.#size += 1;
    return undefined;
  }

  /** The row that has an address with another target. */
  find(address: string, target: string): number | undefined {
    const number = this.#places[this.#placeOf(...hash(address))] ?? 0;
    if (number === 0) return undefined;
    const [piece, at] = [this.#pieceOf(number), startOf(number)];
    return piece[at + 2] === hash(target)[0] ? undefined : piece[at + 3];
  }

  /** Where an address is, or would be. Steps of an odd length come to all places, of which there are a power of two. */
  #placeOf(high: number, low: number): number {
    const step = (low | 1) >>> 0;
    const { length } = this.#places;
    for (let place = high % length; ; place = (place + step) % length) {
      const number = this.#places[place] ?? 0;
      if (number === 0) return place;
      const [piece, at] = [this.#pieceOf(number), startOf(number)];
      if (piece[at] === high && piece[at + 1] === low) return place;
    }
  }

  #pieceOf(number: number): Uint32Array {
    return this.#pieces[Math.floor(number / PIECE)] as Uint32Array;
  }

  #grow(): void {
    this.#places = new Uint32Array(this.#places.length * 2);
    for (let number = 1; number < this.#size; number += 1) {
      const [piece, at] = [this.#pieceOf(number), startOf(number)];
      this.#places[this.#placeOf(piece[at] ?? 0, piece[at + 1] ?? 0)] = number;
    }
  }
}

/** Where an entry begins in its piece. */
const startOf = (number: number) => (number % PIECE) * WIDTH;

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

/** A set of row numbers, from 0, at one bit each: a file may have millions of bad rows. */
export class RowSet {
  #bits = new Uint8Array(1024);

  add(row: number): void {
    const byte = row >> 3;
    if (byte >= this.#bits.length) {
      const grown = new Uint8Array(Math.max(byte + 1, this.#bits.length * 2));
      grown.set(this.#bits);
      this.#bits = grown;
    }
    this.#bits[byte] = (this.#bits[byte] ?? 0) | (1 << (row & 7));
  }

  has(row: number): boolean {
    return ((this.#bits[row >> 3] ?? 0) & (1 << (row & 7))) !== 0;
  }

  addAll(other: RowSet): void {
    const bits = new Uint8Array(Math.max(this.#bits.length, other.#bits.length));
    bits.set(this.#bits);
    for (const [index, byte] of other.#bits.entries()) bits[index] = (bits[index] ?? 0) | byte;
    this.#bits = bits;
  }
}

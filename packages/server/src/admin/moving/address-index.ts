import { hash } from 'node:crypto';

/** Numbers of an entry: 64 bits of the address, 32 of the target, and the row. */
const WIDTH = 4;

/**
 * Finds addresses that rows of one import share, in 16 bytes an address: a million links with their texts would take hundreds of megabytes.
 * Of two addresses that are different, one in 10^19 is taken for the other.
 */
export class AddressIndex {
  #entries = new Uint32Array(WIDTH * 1_024);
  #size = 0;

  /** Adds an address. Returns the number of the earlier row that has it with another target. */
  add(address: string, target: string, row: number): number | undefined {
    if (this.#size * WIDTH * 2 >= this.#entries.length) this.#grow();
    const digest = hash('sha1', address, 'buffer');
    const [high, low] = [digest.readUInt32BE(0), digest.readUInt32BE(4)];
    const leadsTo = hash('sha1', target, 'buffer').readUInt32BE(0);
    const at = placeOf(this.#entries, high, low);
    if (this.#entries[at + 3] === 0) {
      this.#entries.set([high, low, leadsTo, row + 1], at);
      this.#size += 1;
      return undefined;
    }
    return this.#entries[at + 2] === leadsTo ? undefined : (this.#entries[at + 3] ?? 0) - 1;
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

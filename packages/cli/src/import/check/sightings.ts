/** Memory in words of 32 bits: 8 MB. Of a million texts, less than one is wrongly taken for a repeated one. */
const WORDS = 2 ** 21;

/** Characters at the end of a text that are looked at: short URLs begin alike. */
const END_LENGTH = 12;

/** Tells which texts come again, of any number of them in the same memory (a Bloom filter). */
export class Sightings {
  #words: Uint32Array | undefined;

  /** Adds a text. Returns whether it may have been added before; where it was, it always says so. */
  add(text: string): boolean {
    this.#words ??= new Uint32Array(WORDS);
    const words = this.#words;
    let block = 0x811c9dc5;
    let bits = 0x9747b28c;
    for (let index = Math.max(0, text.length - END_LENGTH); index < text.length; index += 1) {
      const code = text.charCodeAt(index);
      block = Math.imul(block ^ code, 0x01000193);
      bits = Math.imul(bits ^ code, 0x5bd1e995);
    }
    // All bits of a text are in one block of 16 words, as long as a line of the processor's cache. The upper 17 bits of the hash choose it.
    const first = (Math.imul(block ^ (block >>> 15), 0x2c1b3c6d) >>> 15) * 16;
    let isKnown = true;
    for (let count = 0; count < 5; count += 1) {
      bits = Math.imul(bits ^ (bits >>> 15), 0x2c1b3c6d) + count;
      const place = first + (bits >>> 28);
      const mask = 1 << ((bits >>> 20) & 31);
      const word = words[place] ?? 0;
      if ((word & mask) === 0) {
        isKnown = false;
        words[place] = word | mask;
      }
    }
    return isKnown;
  }
}

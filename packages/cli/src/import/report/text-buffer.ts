const BUFFER_BYTES = 256 * 1024;

/** Characters that are encoded together: few enough for the young generation of the heap. */
const PIECE_LENGTH = 16 * 1024;

/** UTF-8 takes at most so many for a UTF-16 code unit. */
const MAX_BYTES_PER_UNIT = 3;

const FULL_BYTES = BUFFER_BYTES + PIECE_LENGTH * MAX_BYTES_PER_UNIT;

/** Gathers text, and writes it as UTF-8 in large blocks. Bytes are written at once. */
export class TextBuffer {
  readonly #write: (bytes: Uint8Array) => Promise<void>;
  #text = '';
  /** Fresh memory each time costs more than the writing. Only what a first piece needs is taken at first: many results are small. */
  #bytes: Buffer = Buffer.alloc(0);
  #length = 0;

  /** @param write - writes bytes that are overwritten once its promise has ended */
  constructor(write: (bytes: Uint8Array) => Promise<void>) {
    this.#write = write;
  }

  /** A promise is awaited before the next call. */
  write(data: string | Uint8Array): Promise<void> | undefined {
    if (typeof data !== 'string') return this.#write(data);
    this.#text += data;
    if (this.#text.length >= PIECE_LENGTH) this.#encode();
    return this.#length >= BUFFER_BYTES ? this.flush() : undefined;
  }

  async flush(): Promise<void> {
    this.#encode();
    if (this.#length === 0) return;
    const bytes = this.#bytes.subarray(0, this.#length);
    this.#length = 0;
    await this.#write(bytes);
  }

  #encode(): void {
    const text = this.#text;
    this.#text = '';
    const needed = this.#length + text.length * MAX_BYTES_PER_UNIT;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(this.#length === 0 ? needed : Math.max(needed, FULL_BYTES));
      this.#bytes.copy(larger, 0, 0, this.#length);
      this.#bytes = larger;
    }
    this.#length += this.#bytes.write(text, this.#length);
  }
}

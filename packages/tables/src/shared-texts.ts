import { closeSync, openSync, readSync, rmSync, writeSync } from 'node:fs';

/** A text never stands in two blocks. */
const BLOCK_BYTES = 2 ** 20;

/** Blocks that stay in memory. Later ones are in a file. */
const MAX_BLOCKS = 32;

/** Bytes that are read of the file at once: a text, and some of those after it. */
const WINDOW_BYTES = 8 * 1024;

/** Texts whose places are allocated at once. */
const CHUNK_TEXTS = 2 ** 16;

/** Twice the cells of a sheet of a million rows and eight columns. The place of each text takes four bytes of memory. */
const MAX_TEXTS = 2 ** 24;

const LENGTH_BYTES = 4;

/** Texts by number. Millions of them take little memory: they are kept as bytes, and most of them in a file. */
export class SharedTexts {
  readonly #path: string;
  readonly #blocks: (Buffer | undefined)[] = [];
  /** Where each text begins, in units of four bytes: 32 bits reach 16 GiB. */
  readonly #places: Uint32Array[] = [];
  #count = 0;
  #end = 0;
  #file: number | undefined;
  readonly #memory = Buffer.alloc(WINDOW_BYTES);
  #window: Buffer = this.#memory.subarray(0, 0);
  #windowStart = 0;

  /** @param path - of the file, which is made if it is needed */
  constructor(path: string) {
    this.#path = path;
  }

  /** Keeps a text, no longer than a third of a block, and returns its number. */
  add(text: string): number {
    if (this.#count === MAX_TEXTS) {
      throw new Error(`it has more than ${MAX_TEXTS.toLocaleString('en-US')} texts`);
    }
    const size = LENGTH_BYTES + Buffer.byteLength(text);
    if (this.#blocks.length * BLOCK_BYTES - this.#end < size) this.#addBlock();
    const block = this.#blocks.at(-1) as Buffer;
    const at = this.#end % BLOCK_BYTES;
    block.writeUInt32LE(size - LENGTH_BYTES, at);
    block.write(text, at + LENGTH_BYTES);
    const place = this.#count % CHUNK_TEXTS;
    if (place === 0) this.#places.push(new Uint32Array(CHUNK_TEXTS));
    (this.#places.at(-1) as Uint32Array)[place] = this.#end / 4;
    this.#end += Math.ceil(size / 4) * 4;
    this.#count += 1;
    return this.#count - 1;
  }

  /** Empty where there is no text of that number. */
  get(index: number): string {
    if (!(index >= 0 && index < this.#count)) return '';
    const start = (this.#places[Math.floor(index / CHUNK_TEXTS)]?.[index % CHUNK_TEXTS] ?? 0) * 4;
    const block = this.#blocks[Math.floor(start / BLOCK_BYTES)];
    const bytes = block ?? this.#read(start, LENGTH_BYTES);
    const at = block === undefined ? 0 : start % BLOCK_BYTES;
    const size = LENGTH_BYTES + bytes.readUInt32LE(at);
    const whole = block ?? this.#read(start, size);
    return whole.toString('utf8', at + LENGTH_BYTES, at + size);
  }

  close(): void {
    if (this.#file === undefined) return;
    closeSync(this.#file);
    rmSync(this.#path, { force: true });
  }

  #addBlock(): void {
    const index = this.#blocks.length;
    const last = this.#blocks.at(-1);
    this.#end = index * BLOCK_BYTES;
    if (index <= MAX_BLOCKS || last === undefined) {
      this.#blocks.push(Buffer.allocUnsafeSlow(BLOCK_BYTES));
      return;
    }
    this.#file ??= openSync(this.#path, 'wx+', 0o600);
    writeSync(this.#file, last, 0, BLOCK_BYTES, (index - 1) * BLOCK_BYTES);
    this.#blocks[index - 1] = undefined;
    this.#blocks.push(last);
  }

  /** Bytes of the file from a place on, at least so many, until the next call. */
  #read(start: number, size: number): Buffer {
    const at = start - this.#windowStart;
    if (at >= 0 && at + size <= this.#window.length) return this.#window.subarray(at);
    const into = size > WINDOW_BYTES ? Buffer.allocUnsafe(size) : this.#memory;
    const length = readSync(this.#file as number, into, 0, into.length, start);
    this.#window = into.subarray(0, length);
    this.#windowStart = start;
    return this.#window;
  }
}

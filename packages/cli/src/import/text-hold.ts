import { closeSync, mkdtempSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Text held in memory, in characters; what comes beyond it goes to a temporary file. */
const MAX_IN_MEMORY = 8 * 1024 * 1024;

/** Longest piece, in characters: one string of it stands for many lines. */
const PIECE_LENGTH = 256 * 1024;

/** Text in memory, or a stretch of the temporary file. */
type Piece = { text: string } | { offset: number; bytes: number };

/** Keeps text under number keys, first in memory, then on disk, until it is taken. */
export class TextHold {
  readonly #pieces = new Map<number, Piece[]>();
  #inMemory = 0;
  #spill: { directory: string; file: number; size: number } | undefined;

  add(key: number, text: string): void {
    let pieces = this.#pieces.get(key);
    if (pieces === undefined) {
      pieces = [];
      this.#pieces.set(key, pieces);
    }
    const last = pieces.at(-1);
    this.#inMemory += text.length;
    if (last !== undefined && 'text' in last && last.text.length < PIECE_LENGTH) last.text += text;
    else pieces.push({ text });
    if (this.#inMemory > MAX_IN_MEMORY) this.#spillPiece(pieces);
  }

  has(key: number): boolean {
    return this.#pieces.has(key);
  }

  /** The text under the key, in the order it was added; it is forgotten. */
  *take(key: number): Generator<string> {
    const pieces = this.#pieces.get(key);
    if (pieces === undefined) return;
    this.#pieces.delete(key);
    for (const piece of pieces) {
      if ('text' in piece) {
        this.#inMemory -= piece.text.length;
        yield piece.text;
      } else yield this.#read(piece.offset, piece.bytes);
    }
  }

  dispose(): void {
    if (this.#spill === undefined) return;
    closeSync(this.#spill.file);
    rmSync(this.#spill.directory, { recursive: true, force: true });
    this.#spill = undefined;
  }

  /** Moves the last piece to disk once it is full: a write for every line would be slow. */
  #spillPiece(pieces: Piece[]): void {
    const last = pieces.at(-1);
    if (last === undefined || !('text' in last) || last.text.length < PIECE_LENGTH) return;
    this.#spill ??= openSpill();
    const bytes = Buffer.from(last.text);
    writeSync(this.#spill.file, bytes, 0, bytes.length, this.#spill.size);
    this.#inMemory -= last.text.length;
    pieces[pieces.length - 1] = { offset: this.#spill.size, bytes: bytes.length };
    this.#spill.size += bytes.length;
  }

  #read(offset: number, bytes: number): string {
    const buffer = Buffer.alloc(bytes);
    if (this.#spill !== undefined) readSync(this.#spill.file, buffer, 0, bytes, offset);
    return buffer.toString();
  }
}

function openSpill() {
  const directory = mkdtempSync(join(tmpdir(), 'shortlink-held-'));
  return { directory, file: openSync(join(directory, 'rejected'), 'w+', 0o600), size: 0 };
}

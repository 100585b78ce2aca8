import { invalidRequest, payloadTooLarge } from '../domain/problem.ts';
import type { BodyMemory } from './body-memory.ts';
import { JsonScan } from './json-scan.ts';

/** Bodies up to this size are no matter of {@link BodyMemory}: what many of them take is bounded by the number of connections. */
const SMALL_BYTES = 256 * 1024;

/** Memory is taken in steps of this size. */
const STEP_BYTES = 256 * 1024;

/** A buffer begins at this size and doubles from there, whatever length the client states: stating a length costs nothing. */
const FIRST_BYTES = 64 * 1024;

/** Pieces that a body may come in. Each costs about a microsecond, also if it is a single byte. */
const MAX_PIECES = 1_000_000;

export interface ArrivingBodyOptions {
  memory: BodyMemory;
  accountId: string;
  /** 413 above. */
  maxBytes: number;
  /** The length that the client stated; `NaN` without one. */
  statedBytes: number;
}

/** The bytes that arrived, in one buffer that doubles, so that a million small pieces take no more memory than one large one. */
export class ArrivingBody {
  readonly #options: ArrivingBodyOptions;
  readonly #scan = new JsonScan();
  #buffer: Uint8Array = new Uint8Array(0);
  #size = 0;
  #pieces = 0;
  /** What it has taken of the memory for large bodies. */
  #taken = 0;

  constructor(options: ArrivingBodyOptions) {
    this.#options = options;
    if (options.statedBytes > options.maxBytes) throw payloadTooLarge(options.maxBytes);
  }

  /** @throws a 413 or 400 when no request can look like this, and a 503 when there is no memory for it */
  add(piece: Uint8Array): void {
    const { maxBytes, statedBytes } = this.#options;
    const size = this.#size + piece.length;
    if (size > maxBytes) throw payloadTooLarge(maxBytes);
    this.#pieces += 1;
    if (this.#pieces > MAX_PIECES) {
      throw invalidRequest(`The request body comes in more than ${MAX_PIECES} pieces.`);
    }
    this.#scan.add(piece);
    this.#takeMemory(size);
    if (size === statedBytes && size <= FIRST_BYTES && this.#size === 0) {
      this.#buffer = piece;
    } else {
      if (size > this.#buffer.length) this.#grow(size);
      this.#buffer.set(piece, this.#size);
    }
    this.#size = size;
  }

  /** Whether others may wait for the memory that it holds. */
  get isLarge(): boolean {
    return this.#taken > 0;
  }

  /** What has arrived. Above {@link FIRST_BYTES}, nobody else uses the buffer of these bytes. */
  get bytes(): Uint8Array {
    return this.#buffer.subarray(0, this.#size);
  }

  /** Gives its memory back to those that wait; it must be forgotten by then. */
  release(): void {
    if (this.#taken > 0) this.#options.memory.free(this.#options.accountId, this.#taken);
    this.#taken = 0;
  }

  #takeMemory(size: number): void {
    if (size <= SMALL_BYTES || size <= this.#taken) return;
    const { memory, accountId } = this.#options;
    const rounded = Math.ceil(size / STEP_BYTES) * STEP_BYTES;
    try {
      memory.take(accountId, rounded - this.#taken);
    } catch (error) {
      // Released at once, so that one of several growing bodies is rejected and not all of them.
      this.release();
      throw error;
    }
    this.#taken = rounded;
  }

  #grow(needed: number): void {
    const { maxBytes, statedBytes } = this.#options;
    const wanted = Math.max(needed, 2 * this.#buffer.length, FIRST_BYTES);
    // The HTTP parser enforces a stated length, so no more than that is needed.
    const length = Math.min(wanted, Number.isNaN(statedBytes) ? maxBytes : statedBytes);
    // The system gives memory only to the part that was written to, so only the bytes that have arrived are counted.
    const grown = Buffer.allocUnsafeSlow(length);
    grown.set(this.#buffer.subarray(0, this.#size));
    this.#buffer = grown;
  }
}

import { invalidRequest, overloaded, payloadTooLarge } from '../domain/problem.ts';

/** Bodies up to this size are checked where they arrive, in a millisecond or two. A thread checks larger ones. */
export const SMALL_BYTES = 64 * 1024;

/** The memory of smaller bodies is bounded by the number of connections. */
const UNCOUNTED_BYTES = 256 * 1024;

/** Memory for the bodies of all requests: eight of the largest, one of them for each account, so that a few that send slowly leave some to others. */
const MAX_BYTES = 128 * 1024 * 1024;
const MAX_BYTES_PER_ACCOUNT = MAX_BYTES / 8;

/** Each piece costs about a microsecond, also if it is a single byte. */
const MAX_PIECES = 1_000_000;

const NO_MEMORY = 'The service is busy with other large requests; try again in 1 s.';

/** The memory that bodies hold. Those that don't fit are rejected with 503 before they take memory. */
export class BodyMemory {
  #bytes = 0;
  readonly #byAccount = new Map<string, number>();

  /** Takes more memory, or less than none to give it back. */
  take(accountId: string, bytes: number): void {
    const total = this.#bytes + bytes;
    const ofAccount = (this.#byAccount.get(accountId) ?? 0) + bytes;
    const isByCaller = ofAccount > MAX_BYTES_PER_ACCOUNT;
    if (bytes > 0 && (total > MAX_BYTES || isByCaller)) {
      throw overloaded(NO_MEMORY, isByCaller);
    }
    this.#bytes = total;
    if (ofAccount > 0) this.#byAccount.set(accountId, ofAccount);
    else this.#byAccount.delete(accountId);
  }
}

export interface ArrivingBodyOptions {
  memory: BodyMemory;
  accountId: string;
  maxBytes: number;
  statedBytes: number;
}

/** The bytes of a body that have arrived, in one buffer, so that a million small pieces take no more memory than one large one. */
export class ArrivingBody {
  readonly #options: ArrivingBodyOptions;
  #buffer: ArrayBuffer | undefined;
  /** Above {@link SMALL_BYTES}, nobody else uses its buffer. */
  bytes = new Uint8Array();
  #pieces = 0;
  /** Bytes that are counted in the memory of all bodies. */
  counted = 0;

  constructor(options: ArrivingBodyOptions) {
    this.#options = options;
    if (options.statedBytes > options.maxBytes) throw payloadTooLarge(options.maxBytes);
  }

  /** @throws a 413 or 400 when no request can look like this, and a 503 when there is no memory for it */
  add(piece: Uint8Array<ArrayBuffer>): void {
    const { maxBytes, statedBytes } = this.#options;
    const before = this.bytes.length;
    const size = before + piece.length;
    if (size > maxBytes) throw payloadTooLarge(maxBytes);
    this.#pieces += 1;
    if (this.#pieces > MAX_PIECES) {
      throw invalidRequest(`The request body comes in more than ${MAX_PIECES} pieces.`);
    }
    if (size > UNCOUNTED_BYTES) this.#count(size);
    if (size === statedBytes && size <= SMALL_BYTES && before === 0) {
      this.bytes = piece;
      return;
    }
    if (this.#buffer === undefined) {
      // Only its address range is reserved, and the system gives memory to the part that is in use. So stating a length costs nothing.
      this.#buffer = new ArrayBuffer(0, { maxByteLength: maxBytes });
      this.bytes = new Uint8Array(this.#buffer);
    }
    this.#buffer.resize(size);
    this.bytes.set(piece, before);
  }

  #count(size: number): void {
    const { memory, accountId } = this.#options;
    try {
      memory.take(accountId, size - this.counted);
      this.counted = size;
    } catch (error) {
      // Released at once, so that one of several growing bodies is rejected and not all of them.
      this.release();
      throw error;
    }
  }

  release(): void {
    if (this.counted > 0) this.#options.memory.take(this.#options.accountId, -this.counted);
    this.counted = 0;
    // At once, not with the next garbage collection. A buffer that a thread has is not ours to free.
    if (this.#buffer !== undefined && !this.#buffer.detached) this.#buffer.resize(0);
  }
}

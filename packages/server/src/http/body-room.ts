import { overloaded } from '../domain/problem.ts';

/** Bodies up to this size need no reservation: what many of them take is bounded by the number of connections. */
const SMALL_BYTES = 256 * 1024;

/** Bytes of larger bodies that all requests together may hold: eight of the largest, or sixty batches of 10,000 common links. */
const MAX_BYTES = 128 * 1024 * 1024;

/** Bytes of larger bodies that one account may hold: one of the largest, so that a few that send slowly leave room for the others. */
const MAX_BYTES_PER_ACCOUNT = MAX_BYTES / 8;

/** Room is taken in steps of this size. */
const STEP_BYTES = 256 * 1024;

/**
 * The memory for request bodies. A parsed body takes several times its bytes, so large ones are parsed and checked one after the
 * other; and those that don't fit are rejected with 503 and `Retry-After`, before they take memory.
 */
export class BodyRoom {
  #bytes = 0;
  readonly #byAccount = new Map<string, number>();
  #lastTurn: Promise<unknown> = Promise.resolve();

  reserve(accountId: string): Reservation {
    return new Reservation(this, accountId);
  }

  /** @throws a 503 when there is no room for this much more */
  take(accountId: string, bytes: number): void {
    const used = this.#byAccount.get(accountId) ?? 0;
    const isByCaller = used + bytes > MAX_BYTES_PER_ACCOUNT;
    if (isByCaller || this.#bytes + bytes > MAX_BYTES) {
      const message = 'The service is busy with other large requests; try again in 1 s.';
      throw overloaded(message, isByCaller);
    }
    this.#bytes += bytes;
    this.#byAccount.set(accountId, used + bytes);
  }

  free(accountId: string, bytes: number): void {
    this.#bytes -= bytes;
    const left = (this.#byAccount.get(accountId) ?? 0) - bytes;
    if (left > 0) this.#byAccount.set(accountId, left);
    else this.#byAccount.delete(accountId);
  }

  /** Runs `step` when those before it have ended. */
  inTurn<T>(step: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn.then(step);
    this.#lastTurn = turn.catch(() => undefined);
    return turn;
  }
}

/** What one request holds of the room. */
export class Reservation {
  readonly #room: BodyRoom;
  readonly #accountId: string;
  #bytes = 0;

  constructor(room: BodyRoom, accountId: string) {
    this.#room = room;
    this.#accountId = accountId;
  }

  get isLarge(): boolean {
    return this.#bytes > 0;
  }

  growTo(bytes: number): void {
    if (bytes <= SMALL_BYTES || bytes <= this.#bytes) return;
    const rounded = Math.ceil(bytes / STEP_BYTES) * STEP_BYTES;
    try {
      this.#room.take(this.#accountId, rounded - this.#bytes);
    } catch (error) {
      // Released at once, so that one of several growing bodies is rejected and not all of them.
      this.release();
      throw error;
    }
    this.#bytes = rounded;
  }

  /** Runs `step`: at once for a small body, in its turn for a large one. */
  inTurn<T>(step: () => Promise<T>): Promise<T> {
    return this.isLarge ? this.#room.inTurn(step) : step();
  }

  release(): void {
    if (this.#bytes === 0) return;
    this.#room.free(this.#accountId, this.#bytes);
    this.#bytes = 0;
  }
}

import { overloaded } from '../domain/problem.ts';

/** Bytes of large bodies that all requests together may hold: eight of the largest, or sixty batches of 10,000 common links. */
const MAX_BYTES = 128 * 1024 * 1024;

/** Bytes of large bodies that one account may hold: one of the largest, so that a few that send slowly leave memory for the others. */
const MAX_BYTES_PER_ACCOUNT = MAX_BYTES / 8;

/** The memory that large request bodies hold. Those that don't fit are rejected with 503 and `Retry-After`, before they take memory. */
export class BodyMemory {
  #bytes = 0;
  readonly #byAccount = new Map<string, number>();

  /** @throws a 503 when there is no memory for this much more */
  take(accountId: string, bytes: number): void {
    const used = this.#byAccount.get(accountId) ?? 0;
    if (this.#bytes + bytes > MAX_BYTES || used + bytes > MAX_BYTES_PER_ACCOUNT) {
      throw overloaded('The service is busy with other large requests; try again in 1 s.');
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
}

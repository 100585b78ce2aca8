import { setImmediate } from 'node:timers';
import { StoreError } from '../store-error.ts';
import type { Args, OperationName, Output } from './operations/operations.ts';
import type { WriteReply, WriteRequest } from './write-core.ts';

/**
 * Writes that are handed on before the turn ends. So the writer commits the first of a long turn while the rest is still read
 * and checked; fewer would wait for more commits than they save.
 */
const MOST_TOGETHER = 16;

interface Waiting {
  resolve: (value: unknown) => void;
  reject: (error: StoreError) => void;
}

/**
 * Collects the writes of one turn of the event loop, hands them on together, or in groups when there are many, and settles
 * each promise when its reply comes.
 */
export class PendingWrites {
  readonly #send: (requests: WriteRequest[]) => void;
  readonly #waiting = new Map<number, Waiting>();
  #outbox: WriteRequest[] = [];
  #lastId = 0;

  constructor(send: (requests: WriteRequest[]) => void) {
    this.#send = send;
  }

  /** Writes that were not answered yet. */
  get size(): number {
    return this.#waiting.size;
  }

  add<N extends OperationName>(name: N, args: Args<N>): Promise<Output<N>> {
    const id = ++this.#lastId;
    return new Promise<Output<N>>((resolve, reject) => {
      // A reply says which write it answers by its id alone, so the type of its value is known here only.
      this.#waiting.set(id, { resolve: resolve as (value: unknown) => void, reject });
      if (this.#outbox.length === 0) setImmediate(() => this.flush());
      // `name` and `args` belong together by N, which the compiler can't follow into the union.
      this.#outbox.push({ id, name, args } as WriteRequest);
      if (this.#outbox.length === MOST_TOGETHER) this.flush();
    });
  }

  /** Sends what was collected now. */
  flush(): void {
    const requests = this.#outbox;
    if (requests.length === 0) return;
    this.#outbox = [];
    this.#send(requests);
  }

  settle(replies: readonly WriteReply[]): void {
    for (const reply of replies) {
      const waiting = this.#waiting.get(reply.id);
      this.#waiting.delete(reply.id);
      if (reply.ok) waiting?.resolve(reply.value);
      else waiting?.reject(new StoreError(reply.reason, reply.message));
    }
  }

  /** Rejects everything that was sent and waits for its reply. What was only collected is still sent. */
  fail(error: StoreError): void {
    const unsent = new Set(this.#outbox.map((request) => request.id));
    for (const [id, waiting] of this.#waiting) {
      if (unsent.has(id)) continue;
      this.#waiting.delete(id);
      waiting.reject(error);
    }
  }
}

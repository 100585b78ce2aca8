export interface GateOptions {
  slots: number;
  /** How long a call may wait, in milliseconds: clients give up after some time. @default 10_000 */
  maxWaitMs?: number | undefined;
  /** Calls that may wait; one more is rejected at once. @default 10_000 */
  maxWaiting?: number | undefined;
  /** Makes the error of a call that waited too long, or would be one too many. */
  busy: (reason: string) => Error;
}

/** Lets a bounded number of calls run at a time. The others wait in the order they came. */
export class Gate {
  readonly #options: GateOptions;
  readonly #waiting: PromiseWithResolvers<void>[] = [];
  #slots: number;
  #running = 0;

  constructor(options: GateOptions) {
    this.#options = options;
    this.#slots = options.slots;
  }

  get isIdle(): boolean {
    return this.#running === 0 && this.#waiting.length === 0;
  }

  /** Runs a call. Rejects with the error of `busy` when it could not begin in time. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#running < this.#slots) this.#running += 1;
    else await this.#wait();
    try {
      return await call();
    } finally {
      this.#running -= 1;
      this.#letIn();
    }
  }

  resize(slots: number): void {
    this.#slots = slots;
    this.#letIn();
  }

  rejectWaiting(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  #letIn(): void {
    while (this.#running < this.#slots) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#running += 1;
      next.resolve();
    }
  }

  #wait(): Promise<void> {
    const { maxWaitMs = 10_000, maxWaiting = 10_000, busy } = this.#options;
    if (this.#waiting.length >= maxWaiting) throw busy(`${maxWaiting} calls wait already.`);
    const waiting = Promise.withResolvers<void>();
    this.#waiting.push(waiting);
    const timer = setTimeout(() => {
      this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
      waiting.reject(busy(`Those before it took more than ${maxWaitMs} ms.`));
    }, maxWaitMs);
    return waiting.promise.finally(() => clearTimeout(timer));
  }
}

/**
 * A gate for each key, such as an account: calls of a key wait for each other and for no other key. Returns what runs a call under its key; the call
 * gets the gate that it runs in.
 */
export function gateForEach(options: GateOptions) {
  const gates = new Map<string, Gate>();
  return async <T>(key: string, call: (gate: Gate) => Promise<T>): Promise<T> => {
    const gate = gates.get(key) ?? new Gate(options);
    gates.set(key, gate);
    try {
      return await gate.run(() => call(gate));
    } finally {
      if (gate.isIdle && gates.get(key) === gate) gates.delete(key);
    }
  };
}

import { StoreError, type StoreErrorReason } from '../store-error.ts';

export interface GateOptions {
  /** Calls that run at a time. */
  places: number;
  /** How long a call may wait for its turn, in milliseconds: clients give up after some time. @default 10_000 */
  maxWaitMs?: number | undefined;
  /** Calls that may wait; one more is rejected at once. @default 10_000 */
  maxWaiting?: number | undefined;
  /** Slots that this gate shares with others for all its calls but the first. @default every gate has its own */
  spare?: Spare | undefined;
}

/** Slots that several gates share. A call takes one while another call of its gate runs. */
export interface Spare {
  free: number;
}

interface Waiting {
  enter: () => void;
  reject: (error: unknown) => void;
}

/**
 * Lets a bounded number of calls run at a time; the others wait in the order they came. The pool could queue too, but
 * includes that wait in its connect timeout, and connecting must fail fast when the database is down.
 */
export class Gate {
  readonly #waiting: Waiting[] = [];
  readonly #maxWaitMs: number;
  readonly #maxWaiting: number;
  readonly #spare: Spare;
  #places: number;
  #running = 0;
  #calls = 0;

  constructor(options: GateOptions) {
    const { places, maxWaitMs = 10_000, maxWaiting = 10_000, spare } = options;
    this.#spare = spare ?? { free: Number.POSITIVE_INFINITY };
    this.#places = places;
    this.#maxWaitMs = maxWaitMs;
    this.#maxWaiting = maxWaiting;
  }

  /** `true` when nothing runs and nothing waits. */
  get isIdle(): boolean {
    return this.#calls === 0;
  }

  /** @throws StoreError `busy` when its turn doesn't come in time. Then nothing was started. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    this.#calls += 1;
    try {
      if (this.#hasPlace()) this.#begin();
      else await this.#turn();
      try {
        return await call();
      } finally {
        this.#running -= 1;
        if (this.#running > 0) this.#spare.free += 1;
        this.#letIn();
      }
    } finally {
      this.#calls -= 1;
    }
  }

  /** Changes how many calls run at a time. Running calls continue. */
  resize(places: number): void {
    this.#places = places;
    this.#letIn();
  }

  #hasPlace(): boolean {
    return this.#running < this.#places && (this.#running === 0 || this.#spare.free > 0);
  }

  #begin(): void {
    if (this.#running > 0) this.#spare.free -= 1;
    this.#running += 1;
  }

  #letIn(): void {
    while (this.#hasPlace()) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      this.#begin();
      next.enter();
    }
  }

  /** Rejects the calls that wait now: what made a call before them fail would make them fail too. */
  rejectWaiting(error: unknown): void {
    for (const { reject } of this.#waiting.splice(0)) reject(error);
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#maxWaiting) {
      throw new StoreError('busy', `${this.#maxWaiting} calls wait for the database.`);
    }
    return new Promise((resolve, reject) => {
      const turn = {
        enter: () => {
          clearTimeout(timer);
          resolve();
        },
        reject: (error: unknown) => {
          clearTimeout(timer);
          reject(error);
        },
      };
      const timer = setTimeout(() => {
        this.#waiting.splice(this.#waiting.indexOf(turn), 1);
        reject(new StoreError('busy', `All connections were in use for ${this.#maxWaitMs} ms.`));
      }, this.#maxWaitMs);
      this.#waiting.push(turn);
    });
  }
}

/** Failures that the calls which wait behind the failed one would share: a locked row, a database that doesn't respond. */
const SHARED: ReadonlySet<StoreErrorReason> = new Set<StoreErrorReason>([
  'busy',
  'unavailable',
  'read_only',
]);

/** Calls that run beside the first of their lane, in all lanes together: a quarter of the connections. */
const SPARE_PLACES = 3;

/**
 * One lane for each key, such as an account: calls of a lane wait for each other and for no other lane, so that whatever holds
 * up one account takes at most `places` connections from the others. A lane has one place until a call succeeds, and again once
 * a call has timed out at a lock: so a locked account holds one connection, and many of them still leave room for others. All lanes
 * together have few places beside their first ones, so that this is also true of accounts that are locked while they are busy.
 */
export class Lanes {
  readonly #lanes = new Map<string, Gate>();
  readonly #spare: Spare = { free: SPARE_PLACES };

  /** @param places - Calls of the lane that run at a time while they succeed, the same for all calls of a key. */
  async run<T>(key: string, places: number, call: () => Promise<T>): Promise<T> {
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = new Gate({ places: 1, spare: this.#spare });
      this.#lanes.set(key, lane);
    }
    const gate = lane;
    try {
      return await gate.run(async () => {
        try {
          const value = await call();
          gate.resize(places);
          return value;
        } catch (error) {
          if (error instanceof StoreError && error.reason === 'busy') gate.resize(1);
          if (error instanceof StoreError && SHARED.has(error.reason)) gate.rejectWaiting(error);
          throw error;
        }
      });
    } finally {
      if (gate.isIdle && this.#lanes.get(key) === gate) this.#lanes.delete(key);
    }
  }
}

/** Knows the calls that are under way, so that closing can let them end. */
export class OpenCalls {
  readonly #open = new Set<Promise<unknown>>();
  #closed = false;

  /** @throws StoreError `closed` once {@link close} was called. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    if (this.#closed) throw new StoreError('closed', 'The database was closed.');
    const running = call();
    this.#open.add(running);
    try {
      return await running;
    } finally {
      this.#open.delete(running);
    }
  }

  /** Rejects new calls and waits for those that are under way. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#open);
  }
}

import type { Store } from '../store/store.ts';
import type { StoreErrorReason } from '../store/store-error.ts';

/** A database that says nothing for this long is down. */
const PING_TIMEOUT_MS = 1_000;

/** How long a request waits for a fresh state before it gets the last one. */
const FRESH_WAIT_MS = 100;

/** Failures of writes that reading doesn't show. One of them counts for this long, since not every service writes all the time. */
const WRITE_FAILURES: ReadonlySet<StoreErrorReason> = new Set<StoreErrorReason>([
  'full',
  'read_only',
]);
const WRITE_FAILURE_MS = 60_000;

/** Whether the database can be used, without anyone waiting for a database that hangs. */
export class DatabaseState {
  readonly #store: Pick<Store, 'ping'> & { isHealthy?(): boolean };
  #isReachable = true;
  #pinging: Promise<void> | undefined;
  #writeFailedAt = Number.NEGATIVE_INFINITY;

  constructor(store: Pick<Store, 'ping'>) {
    this.#store = store;
  }

  /** A request failed because of the database. */
  failed(reason: StoreErrorReason): void {
    if (WRITE_FAILURES.has(reason)) this.#writeFailedAt = performance.now();
  }

  /** A write was stored. */
  succeeded(): void {
    this.#writeFailedAt = Number.NEGATIVE_INFINITY;
  }

  /** What is known now. Looks again in the background. */
  isUp(): boolean {
    void this.#ping();
    if (performance.now() - this.#writeFailedAt < WRITE_FAILURE_MS) return false;
    return this.#store.isHealthy?.() ?? this.#isReachable;
  }

  /** The same, from a fresh look if that takes no more than a moment. */
  async isUpNow(): Promise<boolean> {
    await withTimeout(this.#ping(), FRESH_WAIT_MS);
    return this.isUp();
  }

  #ping(): Promise<void> {
    this.#pinging ??= withTimeout(
      this.#store.ping().then(
        () => true,
        () => false,
      ),
      PING_TIMEOUT_MS,
    ).then((answer) => {
      this.#isReachable = answer === true;
      this.#pinging = undefined;
    });
    return this.#pinging;
  }
}

/** `undefined` if the promise takes longer. */
async function withTimeout<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise, timeout]);
  } finally {
    clearTimeout(timer);
  }
}

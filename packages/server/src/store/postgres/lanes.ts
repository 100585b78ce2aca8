import { StoreError, type StoreErrorReason } from '../store-error.ts';
import { Gate } from './gate.ts';

/** Failures that the calls which wait behind the failed one would share: a locked row, a database that doesn't respond. */
const SHARED: ReadonlySet<StoreErrorReason> = new Set<StoreErrorReason>([
  'busy',
  'unavailable',
  'read_only',
]);

/**
 * One lane for each key, such as an account: calls of a lane wait for each other and for no other lane, so that whatever holds
 * up one account takes at most `places` connections from the others.
 */
export class Lanes {
  readonly #lanes = new Map<string, Gate>();

  /** @param places - Calls of the lane that run at a time, the same for all calls of a key. */
  async run<T>(key: string, places: number, call: () => Promise<T>): Promise<T> {
    let lane = this.#lanes.get(key);
    if (lane === undefined) {
      lane = new Gate({ places });
      this.#lanes.set(key, lane);
    }
    const gate = lane;
    try {
      return await gate.run(async () => {
        try {
          return await call();
        } catch (error) {
          if (error instanceof StoreError && SHARED.has(error.reason)) gate.rejectWaiting(error);
          throw error;
        }
      });
    } finally {
      if (gate.isIdle && this.#lanes.get(key) === gate) this.#lanes.delete(key);
    }
  }
}

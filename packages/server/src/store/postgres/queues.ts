import { gateForEach } from '../../gate.ts';
import { OF_ONE_WRITE, StoreError, type StoreErrorReason } from '../store-error.ts';

/** Failures that the calls which wait behind the failed one would share: a locked row, a database that doesn't respond. */
const SHARED: readonly StoreErrorReason[] = ['busy', 'unavailable', 'read_only'];

export interface Batching<I, O> {
  /** Calls with the same one may be run as one; those of one queue. */
  group: string;
  most: number;
  /** One outcome for each input, in order. If it rejects because of one of them, each is run alone, so that only that one's call rejects. */
  run: (inputs: readonly I[]) => Promise<O[]>;
}

/**
 * The writes that wait, one queue for each key, such as the creates of an account, which would wait for each other at its row: what holds it up takes
 * one connection from the others. Calls that arrive meanwhile can join those that wait, and become one transaction.
 */
export class Queues {
  readonly #inGate = gateForEach({
    slots: 1,
    busy: (reason) => new StoreError('busy', `The database is slow: ${reason}`),
  });
  readonly #waiting = new Map<string, { inputs: unknown[]; outcomes: Promise<unknown[]> }>();

  /** Runs a call after those before it in its queue. */
  run<T>(key: string, call: () => Promise<T>): Promise<T> {
    return this.#inGate(key, async (gate) => {
      try {
        return await call();
      } catch (error) {
        if (error instanceof StoreError && SHARED.includes(error.reason)) gate.rejectWaiting(error);
        throw error;
      }
    });
  }

  /** Runs a call together with those of its group that wait. A lone call never waits. */
  async runTogether<I, O>(key: string, { group, most, run }: Batching<I, O>, input: I): Promise<O> {
    let batch = this.#waiting.get(group);
    if (batch === undefined || batch.inputs.length === most) {
      const inputs: I[] = [];
      const begin = () => {
        if (this.#waiting.get(group)?.inputs === inputs) this.#waiting.delete(group);
      };
      const outcomes = this.run(key, async () => {
        // The first call joins before anything is run.
        await undefined;
        begin();
        return runOrEach(inputs, run);
      }).finally(begin);
      batch = { inputs, outcomes };
      this.#waiting.set(group, batch);
    }
    const index = batch.inputs.push(input) - 1;
    return (await batch.outcomes)[index] as O | Promise<O>;
  }
}

async function runOrEach<I, O>(inputs: readonly I[], run: Batching<I, O>['run']) {
  try {
    return await run(inputs);
  } catch (error) {
    const mayBeOneOfThem = error instanceof StoreError && OF_ONE_WRITE.includes(error.reason);
    if (inputs.length === 1 || !mayBeOneOfThem) throw error;
  }
  const outcomes: Promise<O | undefined>[] = [];
  for (const input of inputs) {
    const alone = run([input]).then(([outcome]) => outcome);
    outcomes.push(alone);
    // One after the other, on one connection. What fails is known to the call that it belongs to.
    await alone.catch(() => undefined);
  }
  return outcomes;
}

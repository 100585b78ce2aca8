/** A call that waits for its group to be run. */
interface Waiting<I, O> {
  input: I;
  resolve: (output: O) => void;
  reject: (error: unknown) => void;
}

/** Runs the calls of a group: one outcome for each input, in order. If it rejects, every call of the group does. */
export type RunGroup<I, O> = (inputs: readonly I[]) => Promise<readonly PromiseSettledResult<O>[]>;

/**
 * Runs calls of one key together. The first is run at once; those that arrive while it is under way wait, and are run as one
 * when it has ended. So an instance has one statement of a key under way at a time, and the more calls there are, the more of
 * them share it: calls never queue up for a row lock, and a lone call never waits.
 */
export class CallGroups<I, O> {
  readonly #run: RunGroup<I, O>;
  readonly #most: number;
  readonly #waiting = new Map<string, Waiting<I, O>[]>();

  /** @param most - Calls of one group. */
  constructor(run: RunGroup<I, O>, most: number) {
    this.#run = run;
    this.#most = most;
  }

  submit(key: string, input: I): Promise<O> {
    return new Promise((resolve, reject) => {
      const call = { input, resolve, reject };
      const waiting = this.#waiting.get(key);
      if (waiting !== undefined) {
        waiting.push(call);
        return;
      }
      const queue = [call];
      this.#waiting.set(key, queue);
      this.#runAll(key, queue);
    });
  }

  async #runAll(key: string, queue: Waiting<I, O>[]): Promise<void> {
    while (queue.length > 0) await this.#runGroup(queue.splice(0, this.#most));
    this.#waiting.delete(key);
  }

  async #runGroup(group: readonly Waiting<I, O>[]): Promise<void> {
    try {
      const outcomes = await this.#run(group.map((call) => call.input));
      for (const [index, outcome] of outcomes.entries()) {
        if (outcome.status === 'fulfilled') group[index]?.resolve(outcome.value);
        else group[index]?.reject(outcome.reason);
      }
    } catch (error) {
      for (const call of group) call.reject(error);
    }
  }
}

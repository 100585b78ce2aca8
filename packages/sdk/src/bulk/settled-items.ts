import type { LinkInput } from '../wire/link.ts';
import type { SettledBatch } from './results.ts';
import type { BulkItem } from './types.ts';

/** The items of batches in the order of the source, in whatever order the batches settle. */
export class SettledItems<T extends LinkInput> {
  readonly #batches = new Map<number, SettledBatch<T>>();
  readonly #onTaken: (links: number) => void;
  /** Where the batch of the next item begins, and where in it that item is. */
  #first = 0;
  #offset = 0;
  /** No other batch will settle: from now on {@link take} passes over what is missing. */
  isClosed = false;

  /** @param onTaken called with the number of links of a batch when the item after its last one is asked for */
  constructor(onTaken: (links: number) => void) {
    this.#onTaken = onTaken;
  }

  put(batch: SettledBatch<T>): void {
    this.#batches.set(batch.first, batch);
  }

  clear(): void {
    this.#batches.clear();
  }

  /** The next item, or undefined when it is not there yet or, once closed, nothing is left. */
  take(): BulkItem<T> | undefined {
    for (;;) {
      const batch = this.#batches.get(this.#first);
      const links = batch?.inputs.length ?? 0;
      if (this.#offset < links) return batch?.item(this.#offset++);
      if (batch !== undefined) {
        this.#batches.delete(this.#first);
        this.#first += links;
        this.#offset = 0;
        this.#onTaken(links);
      } else if (this.isClosed && this.#batches.size > 0) {
        this.#first = Math.min(...this.#batches.keys());
      } else return undefined;
    }
  }
}

/**
 * The generator, with a `next` that asks it only where `take` has nothing: a turn of a generator for each item is a tenth of
 * the processor time of a run. Calls that come while another one waits are left to the generator, which keeps their order.
 */
export function withQuickNext<Item>(
  generator: AsyncGenerator<Item, void, undefined>,
  take: () => Item | undefined,
): AsyncGenerator<Item, void, undefined> {
  const ask = generator.next.bind(generator);
  let waiting = 0;
  const onAnswer = () => {
    waiting -= 1;
  };
  generator.next = () => {
    const value = waiting === 0 ? take() : undefined;
    if (value !== undefined) return Promise.resolve({ done: false, value });
    waiting += 1;
    const step = ask();
    step.then(onAnswer, onAnswer);
    return step;
  };
  return generator;
}

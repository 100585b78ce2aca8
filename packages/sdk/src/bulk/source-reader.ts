import { InvalidOptionError } from '../errors/call-errors.ts';
import type { BulkSource, BulkSourceIterator } from './types.ts';

/** Reads a sync or async iterable in pieces, no further than asked. One read at a time. */
export class SourceReader<T> {
  readonly #source: BulkSource<T>;
  #iterator: Iterator<T> | BulkSourceIterator<T> | undefined;
  #isReading = false;
  #isDone = false;

  constructor(source: BulkSource<T>) {
    this.#source = source;
  }

  /** The next `count` entries, fewer where the source ends. Rejects with what the source throws. */
  async read(count: number): Promise<T[]> {
    const entries: T[] = [];
    this.#isReading = true;
    try {
      this.#iterator ??= open(this.#source);
      while (entries.length < count && !this.#isDone) {
        const step = this.#iterator.next();
        // To await a step that is no promise would cost a turn of the event loop for each of millions of entries.
        const { done, value } = 'then' in step ? await step : step;
        if (done) this.#isDone = true;
        else entries.push(value);
      }
    } catch (error) {
      this.#isDone = true;
      throw error;
    } finally {
      this.#isReading = false;
    }
    return entries;
  }

  /**
   * Tells a source that is not at its end that no more is wanted. A read that hangs is not waited for: a generator
   * only learns of the end once it yields again.
   */
  async close(): Promise<void> {
    const wasDone = this.#isDone;
    this.#isDone = true;
    if (wasDone || this.#iterator?.return === undefined) return;
    const returned = Promise.resolve(this.#iterator.return());
    if (this.#isReading) returned.catch(() => undefined);
    else await returned;
  }
}

function open<T>(source: BulkSource<T>): Iterator<T> | BulkSourceIterator<T> {
  return Symbol.asyncIterator in source
    ? source[Symbol.asyncIterator]()
    : source[Symbol.iterator]();
}

/** @throws InvalidOptionError for an entry of the source that is no object */
export function checkEntries(entries: readonly unknown[], first: number): void {
  const wrong = entries.findIndex((entry) => typeof entry !== 'object' || entry === null);
  if (wrong < 0) return;
  const expected = `a link, such as { target_url }, not ${String(entries[wrong])}`;
  throw new InvalidOptionError(`source[${first + wrong}]`, expected);
}

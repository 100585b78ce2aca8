import * as check from '../check-options.ts';
import { startTimer } from '../http/time.ts';
import type { BulkIterator, BulkSource } from './create-many.ts';

/** Reads a sync or async iterable, no further than asked, beside the run that asks for its entries. */
export class SourceReader<T> {
  readonly #source: BulkSource<T>;
  readonly #maxDelayMs: number;
  readonly #onChange: () => void;
  /** Undefined also once it is at its end or has thrown, since it then needs no closing. */
  #iterator: BulkIterator<T> | undefined;
  /** Entries that were read and not taken yet, and how many of them are wanted. */
  #entries: T[] = [];
  #goal = 0;
  /** Entries that were taken: the position of the next one in the source. */
  taken = 0;
  #isReading = false;
  #isEnded = false;
  #isLate = false;
  #cancelTimer: (() => void) | undefined;
  /** Why the source ended before its end: what it threw, or an entry that is no link. */
  failure: { reason: unknown } | undefined;

  /** @param onChange called when {@link isReady} may have changed */
  constructor(source: BulkSource<T>, maxDelayMs: number, onChange: () => void) {
    this.#source = source;
    this.#maxDelayMs = maxDelayMs;
    this.#onChange = onChange;
  }

  /** Whether all entries of the source were taken. */
  get isDrained(): boolean {
    return this.#isEnded && this.#entries.length === 0;
  }

  /** Whether `count` entries are there, or the source has ended, or, unless all are needed, one waits too long. Reads on. */
  isReady(count: number, isWhole: boolean): boolean {
    this.#goal = count;
    if (this.#entries.length < count && !this.#isReading && !this.#isEnded) void this.#read();
    if (this.#entries.length >= count || this.#isEnded) return true;
    this.#startTimer();
    return this.#isLate && !isWhole;
  }

  /** At most `count` entries. Nothing more is read until the next call of {@link isReady}. */
  take(count: number): T[] {
    const entries = this.#entries;
    this.#entries = entries.splice(count);
    this.taken += entries.length;
    this.#goal = 0;
    this.#stopTimer();
    return entries;
  }

  /** Closes a source that is not at its end. A read that hangs is not awaited: a generator only ends once it yields. */
  async close(): Promise<void> {
    this.#isEnded = true;
    this.#stopTimer();
    const returned = this.#iterator?.return?.();
    if (!this.#isReading) await returned;
    else Promise.resolve(returned).catch(() => undefined);
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      const source = this.#source;
      this.#iterator ??=
        Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
      const iterator = this.#iterator;
      while (this.#entries.length < this.#goal && !this.#isEnded) {
        const step = iterator.next();
        // To await a step that is no promise would cost a turn of the event loop for each of millions of entries.
        const { done, value } = 'then' in step ? await step : step;
        if (done) {
          this.#isEnded = true;
          this.#iterator = undefined;
        } else if (!check.isLink(value)) {
          const position = this.taken + this.#entries.length;
          this.failure = { reason: check.notALink(`source[${position}]`, value) };
          this.#isEnded = true;
        } else if (this.#entries.push(value) === 1) this.#startTimer();
      }
    } catch (reason) {
      this.failure = { reason };
      this.#isEnded = true;
      this.#iterator = undefined;
    }
    this.#isReading = false;
    this.#onChange();
  }

  /** The time runs from when there is an entry, and more are wanted and may come. */
  #startTimer(): void {
    const isWaiting = this.#goal > 0 && this.#entries.length > 0 && !this.#isEnded;
    if (!isWaiting || this.#maxDelayMs === Number.POSITIVE_INFINITY) return;
    this.#cancelTimer ??= startTimer(this.#maxDelayMs, () => {
      this.#isLate = true;
      this.#onChange();
    });
  }

  #stopTimer(): void {
    this.#isLate = false;
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }
}

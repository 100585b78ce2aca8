import type { RowLink } from './row-link.ts';
import { TextHold } from './text-hold.ts';

/** Taken rows are forgotten in large steps, so that each step is cheap. */
const FORGET_STEP = 4096;

const NOTHING: readonly string[] = [];

/**
 * What was read and is not in the results yet: rows whose links are on their way, and the finished lines of the
 * rejected rows between them. `createMany` bounds the number of the first; the second may be the rest of a hopeless
 * file, so they are held as text, and beyond some megabytes on disk.
 */
export class PendingRows {
  #rows: RowLink[] = [];
  /** Rows taken from the front of `#rows` and not forgotten yet. */
  #taken = 0;
  #linkCount = 0;
  readonly #hold = new TextHold();

  /** Links handed out so far. */
  get linkCount(): number {
    return this.#linkCount;
  }

  /** Links handed out whose rows were not taken yet. */
  get size(): number {
    return this.#rows.length - this.#taken;
  }

  /** Position of the link that {@link take} gives, among all. */
  get nextIndex(): number {
    return this.#linkCount - this.size;
  }

  addLink(link: RowLink): void {
    this.#rows.push(link);
    this.#linkCount += 1;
  }

  /** Keeps the results line of a rejected row until the links before it are written. */
  addRejected(line: string): void {
    this.#hold.add(this.#linkCount, line);
  }

  /** The pending link at `index`; undefined when it was taken already or is not read yet. */
  linkAt(index: number): RowLink | undefined {
    const first = this.nextIndex;
    return index < first ? undefined : this.#rows[this.#taken + index - first];
  }

  /** Takes the first row out, the one at {@link nextIndex}. */
  take(): RowLink | undefined {
    const link = this.#rows[this.#taken];
    if (link === undefined) return undefined;
    this.#taken += 1;
    if (this.#taken === FORGET_STEP || this.#taken === this.#rows.length) {
      this.#rows = this.#rows.slice(this.#taken);
      this.#taken = 0;
    }
    return link;
  }

  /** Takes out the lines of the rejected rows that stand before the link at `index`, in pieces. */
  rejectedBefore(index: number): Iterable<string> {
    return this.#hold.has(index) ? this.#hold.take(index) : NOTHING;
  }

  dispose(): void {
    this.#hold.dispose();
  }
}

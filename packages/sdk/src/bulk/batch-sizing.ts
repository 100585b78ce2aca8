import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { BatchRange } from './types.ts';

/**
 * How many links the service may refuse, one by one and before it took any, until the run ends: then it refuses what all
 * of them have in common.
 */
const MOST_REFUSED_LINKS = 1_000;

/** How often in a row a batch may be cut to the room of the plan and refused all the same: others may fill the plan too. */
const MOST_FILL_ATTEMPTS = 5;

/** A refused batch that is larger than any that the service took: its size may be the reason, or an entry. */
interface Doubt extends BatchRange {
  /** Links in parts of the batch that have no response yet. */
  left: number;
  /** An entry of it was refused, or a part of it has an unknown outcome: its size need not be the reason. */
  isExplained: boolean;
}

/** What a run has learned about the batches that the service takes, and with it how large the next one may be. */
export class BatchSizing {
  /** The largest number of links that the service took in one request. */
  largestTaken = 0;
  /** Whether batches go out one by one, because the plan had room for a part of one only. */
  isFilling = false;
  /** Largest size that was not refused, as far as it is known, without regard to the room in the plan. */
  size: number;
  /** Largest batch that the service took, counted with the entries that it refused. */
  #knownSize = 0;
  /** Links that fit into the plan; for the next batch only. */
  #room = Number.POSITIVE_INFINITY;
  #fillAttempts = 0;
  #doubts: Doubt[] = [];
  #refusedLinks = 0;
  #lastRefusal: ShortlinkError | undefined;

  constructor(size: number) {
    this.size = size;
  }

  /** Most links of the next batch. */
  get next(): number {
    return Math.min(this.size, this.#room);
  }

  /**
   * A batch larger than any that the service took goes alone: if its size is refused, only one batch is. So does a batch that
   * fills the plan, since the room is known only when no other batch is in flight.
   */
  goesAlone(count: number): boolean {
    return this.isFilling || count > this.#knownSize;
  }

  /** Whether a batch that was refused while {@link isFilling} may be tried once more with fewer links. */
  get mayFillAgain(): boolean {
    return this.#fillAttempts < MOST_FILL_ATTEMPTS;
  }

  /** The last of the refusals because of which no other batch is worth a request. */
  get hopeless(): ShortlinkError | undefined {
    const isHopeless = this.largestTaken === 0 && this.#refusedLinks >= MOST_REFUSED_LINKS;
    return isHopeless ? this.#lastRefusal : undefined;
  }

  /** A batch goes out. */
  started(): void {
    this.#room = Number.POSITIVE_INFINITY;
  }

  /** The service took `sent` links of the batch and refused its other entries. */
  taken(range: BatchRange, sent: number): void {
    this.largestTaken = Math.max(this.largestTaken, sent);
    this.#knownSize = Math.max(this.#knownSize, range.count);
    this.#fillAttempts = 0;
    this.#settle(range, sent === range.count);
  }

  /** The outcome of the batch is final, and no link of it was taken for certain. */
  notTaken(range: BatchRange): void {
    this.#settle(range, false);
  }

  /** The service refused each entry of the batch. */
  allRefused(range: BatchRange, error: ShortlinkError): void {
    this.#refusedLinks += range.count;
    this.#lastRefusal = error;
    this.#settle(range, false);
  }

  /** The plan takes batches of at most `size` links. */
  resized(size: number): void {
    this.size = Math.min(this.size, size);
  }

  /** A batch was refused without a reason, and is sent again in parts. When all of them are taken, its size was the reason. */
  split({ first, count }: BatchRange): void {
    if (count <= this.largestTaken) return;
    this.#doubts.push({ first, count, left: count, isExplained: false });
  }

  /** The plan has room for `room` links. */
  filled(room: number): void {
    if (this.isFilling) this.#fillAttempts += 1;
    this.isFilling = true;
    this.#room = room;
  }

  #settle({ first, count }: BatchRange, isTakenWhole: boolean): void {
    for (const doubt of this.#doubts) {
      if (first < doubt.first || first >= doubt.first + doubt.count) continue;
      doubt.left -= count;
      doubt.isExplained ||= !isTakenWhole;
      if (doubt.left <= 0 && !doubt.isExplained) this.resized(this.largestTaken);
    }
    this.#doubts = this.#doubts.filter(({ left }) => left > 0);
  }
}

import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { BatchRange } from './types.ts';

/**
 * When a run ends because the service refuses what all links have in common: after so many refused links, or after so many
 * that were refused one by one with the same message, as long as none was taken.
 */
const MOST_REFUSED_LINKS = 1_000;
const MOST_SAME_ERRORS = 20;

/** Links that are tried one by one to their end all the same: they may be the bad rows of a file whose others exist. */
const FEW_LINKS = 60;

/** Links that were refused one by one, after which the next ones are taken from different places: neighbours may be alike. */
const NEIGHBOURS = 2;

/** How often in a row a batch may be cut to the room of the plan and refused all the same: others may fill the plan too. */
const MOST_FILL_ATTEMPTS = 5;

/** What a run has learned about the batches that the service takes, and with it how large the next one may be. */
export class BatchSizing {
  /** The largest number of links that the service took in one request. */
  largestTaken = 0;
  /** Whether batches go out one by one, because the plan had room for a part of one only. */
  isFilling = false;
  /** Largest size that was not refused, as far as it is known. */
  size: number;
  /** Largest batch that the service took, counted with the entries that it refused. */
  #knownSize = 0;
  #fillAttempts = 0;
  /**
   * A batch larger than any that was taken, which was refused for its size or for an entry. It was its size when all of its parts
   * are taken whole. `left` links are in parts that have no response yet.
   */
  #doubt: (BatchRange & { left: number }) | undefined;
  #refusedLinks = 0;
  #sameErrors = 0;
  #lastError: ShortlinkError | undefined;

  constructor(size: number) {
    this.size = size;
  }

  /** Whether the next batch is a single link from another place, to find out whether the service takes any. */
  get isSampling(): boolean {
    return this.largestTaken === 0 && this.#sameErrors >= NEIGHBOURS;
  }

  /** Most links of the next batch. */
  get next(): number {
    return this.isSampling ? 1 : this.size;
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

  /** The last of the errors because of which no other batch is worth a request, where `left` links are still to be sent. */
  hopeless(left: number): ShortlinkError | undefined {
    const isSame = this.#sameErrors >= MOST_SAME_ERRORS && left > FEW_LINKS;
    const isHopeless = isSame || this.#refusedLinks >= MOST_REFUSED_LINKS;
    return isHopeless && this.largestTaken === 0 ? this.#lastError : undefined;
  }

  /** The service took `sent` links of the batch and refused its other entries. */
  taken(range: BatchRange, sent: number): void {
    this.largestTaken = Math.max(this.largestTaken, sent);
    this.#knownSize = Math.max(this.#knownSize, range.count);
    this.#fillAttempts = 0;
    this.#settleDoubt(range, sent === range.count);
  }

  /** The service refused each entry of the batch, for reasons of their own. */
  allRefused(range: BatchRange, error: ShortlinkError): void {
    this.#refusedLinks += range.count;
    this.#lastError = error;
    this.#settleDoubt(range, false);
  }

  /** The service refused a batch of one link. */
  linkRefused(range: BatchRange, error: ShortlinkError): void {
    const isSame = this.#lastError?.message === error.message;
    this.#sameErrors = isSame ? this.#sameErrors + 1 : 1;
    this.allRefused(range, error);
  }

  /** The plan takes batches of at most `size` links. */
  resized(size: number): void {
    this.size = Math.min(this.size, size);
  }

  /** A batch was refused without a reason, and is sent again in parts. */
  split(range: BatchRange): void {
    if (range.count > this.largestTaken) this.#doubt = { ...range, left: range.count };
  }

  /** The plan has room for a part of a batch, which is cut to it. */
  filled(): void {
    if (this.isFilling) this.#fillAttempts += 1;
    this.isFilling = true;
  }

  /** The largest size that was taken whole is the next one, where no entry explains why a larger batch was refused. */
  #settleDoubt({ first, count }: BatchRange, isTakenWhole: boolean): void {
    const doubt = this.#doubt;
    if (doubt === undefined || first < doubt.first || first >= doubt.first + doubt.count) return;
    doubt.left -= count;
    if (isTakenWhole && doubt.left > 0) return;
    if (isTakenWhole) this.resized(this.largestTaken);
    this.#doubt = undefined;
  }
}

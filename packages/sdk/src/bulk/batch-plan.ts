import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { LinkInput } from '../wire/link.ts';

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

/** Links that go out as one request. */
export interface Batch<T extends LinkInput> {
  /** Position of its first link in the source. */
  first: number;
  inputs: readonly T[];
  /** The `target_url` of each link as it was sent last: `toJSON` or a getter may give another one at another time. */
  targets: string[];
  /** Entries that the service refused, by their position in the source. Parts of one batch share it. */
  refused: Map<number, { error: string; cause: ShortlinkError }>;
}

/** Two parts of a batch, the first of `count` links. */
export function cut<T extends LinkInput>(batch: Batch<T>, count: number): [Batch<T>, Batch<T>] {
  const { first, inputs, targets } = batch;
  const part = (from: number, to?: number): Batch<T> => ({
    ...batch,
    first: first + from,
    inputs: inputs.slice(from, to),
    targets: targets.slice(from, to),
  });
  return [part(0, count), part(count)];
}

/** The batches that wait to be sent, and what a run has learned about the batches that the service takes. */
export class BatchPlan<T extends LinkInput> {
  /** Largest batch that the service took, counted with the entries that it refused. */
  largestTaken = 0;
  /** Largest size that was not refused, as far as it is known. */
  size: number;
  /** Whether batches go out one by one, because the plan had room for a part of one only. */
  isFilling = false;
  /** Batches that wait, in the order of the source. */
  readonly #waiting: Batch<T>[] = [];
  #fillAttempts = 0;
  /** Links of a batch that was refused for its size or for an entry, whose parts have no response yet. */
  #doubted = 0;
  #refusedLinks = 0;
  #sameErrors = 0;
  #lastError: ShortlinkError | undefined;

  constructor(size: number) {
    this.size = size;
  }

  put(...batches: readonly Batch<T>[]): void {
    this.#waiting.push(...batches.filter(({ inputs }) => inputs.length > 0));
    this.#waiting.sort((a, b) => a.first - b.first);
  }

  /** How many links {@link take} would return, 0 when nothing waits. */
  get nextCount(): number {
    return Math.min(this.#waiting[0]?.inputs.length ?? 0, this.isSampling ? 1 : this.size);
  }

  /** The next batch, or, while {@link isSampling}, a link of the largest one: at random, so that each run tries others. */
  take(): Batch<T> | undefined {
    const sizes = this.isSampling ? this.#waiting.map(({ inputs }) => inputs.length) : [0];
    const [batch] = this.#waiting.splice(sizes.indexOf(Math.max(...sizes)), 1);
    if (batch === undefined) return undefined;
    const place = this.isSampling ? Math.floor(Math.random() * batch.inputs.length) : 0;
    const [before, from] = cut(batch, place);
    const [next, after] = cut(from, this.isSampling ? 1 : this.size);
    this.put(before, after);
    return next;
  }

  /** Whether the next batch is a single link from another place, to find out whether the service takes any. */
  get isSampling(): boolean {
    return this.largestTaken === 0 && this.#sameErrors >= NEIGHBOURS;
  }

  /**
   * A batch larger than any that the service took goes alone: if its size is refused, only one batch is. So does a batch that
   * fills the plan, since the room is known only when no other batch is in flight.
   */
  goesAlone(count: number): boolean {
    return this.isFilling || count > this.largestTaken;
  }

  /** Whether a batch that was refused while {@link isFilling} may be tried once more with fewer links. */
  get mayFillAgain(): boolean {
    return this.#fillAttempts < MOST_FILL_ATTEMPTS;
  }

  /** The last of the errors because of which no other batch is worth a request, where so many links are left, or known of. */
  hopeless(links: number): ShortlinkError | undefined {
    const isSame = this.#sameErrors >= MOST_SAME_ERRORS && links > FEW_LINKS;
    const isHopeless = isSame || this.#refusedLinks >= MOST_REFUSED_LINKS;
    return isHopeless && this.largestTaken === 0 ? this.#lastError : undefined;
  }

  /** The service took a batch of `count` links, or `sent` of them, and refused the other entries. */
  taken(count: number, sent: number): void {
    this.largestTaken = Math.max(this.largestTaken, count);
    this.#fillAttempts = 0;
    if (this.#doubted === 0) return;
    // Where no entry explains why a larger batch was refused, it was its size: the largest that was taken is the next one.
    this.#doubted = sent < count ? 0 : Math.max(0, this.#doubted - count);
    if (sent === count && this.#doubted === 0) this.resized(this.largestTaken);
  }

  /** The service refused each entry of a batch, for reasons of their own. */
  allRefused(count: number, error: ShortlinkError): void {
    this.#refusedLinks += count;
    this.#lastError = error;
    this.#doubted = 0;
  }

  /** The service refused a batch of one link. */
  linkRefused(error: ShortlinkError): void {
    const isSame = this.#lastError?.message === error.message;
    this.#sameErrors = isSame ? this.#sameErrors + 1 : 1;
    this.allRefused(1, error);
  }

  /** The plan takes batches of at most `size` links. */
  resized(size: number): void {
    this.size = Math.min(this.size, size);
  }

  /** A batch of `count` links was refused without a reason, and is sent again in parts. */
  split(count: number): void {
    if (count > this.largestTaken) this.#doubted = count;
  }

  /** The plan has room for a part of a batch, which is cut to it. */
  filled(): void {
    if (this.isFilling) this.#fillAttempts += 1;
    this.isFilling = true;
  }
}

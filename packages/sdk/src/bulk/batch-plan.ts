import { ApiError, PlanLimitError } from '../errors/api-errors.ts';
import { isOutcomeUnknown } from '../errors/call-errors.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import { MAX_BATCH_LINKS, MAX_SYNC_BATCH_LINKS } from '../wire/limits.ts';
import type { LinkInput } from '../wire/link.ts';
import type { BatchRange, RunOptions } from './create-many.ts';

/** Batch sizes of the plans, the endpoint's own maximum first. */
const PLAN_BATCH_SIZES = [MAX_BATCH_LINKS, 5_000, MAX_SYNC_BATCH_LINKS] as const;

/** A run ends after so many refused links, or so many refused one by one with the same message, if none was taken. */
const MOST_REFUSED_LINKS = 1_000;
const MOST_SAME_ERRORS = 20;

/** So many links are tried one by one all the same: they may be the bad rows of a file whose others exist. */
const FEW_LINKS = 60;

/** After so many links that were refused one by one, the next are taken from other places: neighbours may be alike. */
const NEIGHBOURS = 2;

/** How many batches in a row may be refused while they fill the plan: others may fill it too. */
const MOST_FILL_ATTEMPTS = 5;

/**
 * What an error of a batch's POST means for the batch:
 * - a number: nothing was created, and the batch is cut after that many links, because its size or an entry without a name is
 *   refused, or the plan has room for that many only.
 * - `failed`: the service refuses these links; other batches may succeed.
 * - `unknown`: the links may exist.
 * - `unsent`: nothing was created, and the next batch would meet the same error, such as a plan limit, so the run ends.
 */
export type Verdict = number | 'failed' | 'unknown' | 'unsent';

/** A link of the source. What is sent of it is read again where it is needed: tens of thousands of links wait at once. */
export interface Entry<T extends LinkInput> {
  /** Position in the source. */
  index: number;
  input: T;
  /** What was sent last: `toJSON` or a getter may give another target at another time. */
  target_url: string;
  /** Why it is not sent again. */
  refused: { error: string; cause: ShortlinkError } | undefined;
}

/** Links that go out as one request. Never empty. */
export type Batch<T extends LinkInput> = readonly Entry<T>[];

export function entryOf<T extends LinkInput>(input: T, index: number): Entry<T> {
  return { index, input, target_url: '', refused: undefined };
}

export function rangeOf(batch: Batch<LinkInput>): BatchRange {
  return { first: batch[0]?.index ?? 0, count: batch.length };
}

type PlanOptions = Pick<RunOptions, 'batchSize' | 'idempotencyKey' | 'domain_id'>;

/** The batches that wait to be sent, and what a run has learned about the batches that the service takes. */
export class BatchPlan<T extends LinkInput> {
  /** Largest batch that the service took, counted with the entries that it refused. */
  largestTaken = 0;
  /** Largest size that was not refused, as far as it is known. */
  size: number;
  readonly #options: PlanOptions;
  /** Batches that wait, in the order of the source. */
  readonly #waiting: Batch<T>[] = [];
  /** Whether batches go out one by one, because the plan has room for a part of one, and how many did so without success. */
  #isFilling = false;
  #fillAttempts = 0;
  /** Links of a batch that was refused for its size or an entry, whose parts have no response yet. */
  #doubted = 0;
  #refusedLinks = 0;
  #sameErrors = 0;
  #lastError: ShortlinkError | undefined;

  constructor(options: PlanOptions) {
    this.size = options.batchSize;
    this.#options = options;
  }

  put(...batches: readonly Batch<T>[]): void {
    this.#waiting.push(...batches.filter(({ length }) => length > 0));
    this.#waiting.sort((a, b) => rangeOf(a).first - rangeOf(b).first);
  }

  /** How many links {@link take} would return, 0 when nothing waits. */
  get nextCount(): number {
    return Math.min(this.#waiting[0]?.length ?? 0, this.isSampling ? 1 : this.size);
  }

  /** The next batch, or, while {@link isSampling}, one link: the last, since files grow at their end, then one at random of the largest batch. */
  take(): Batch<T> | undefined {
    const isLast = this.isSampling && this.#sameErrors === NEIGHBOURS;
    const sizes = this.isSampling && !isLast ? this.#waiting.map(({ length }) => length) : [0];
    const [batch] = this.#waiting.splice(isLast ? -1 : sizes.indexOf(Math.max(...sizes)), 1);
    if (batch === undefined) return undefined;
    if (this.#isFilling) this.#fillAttempts += 1;
    const place = isLast ? batch.length - 1 : Math.floor(Math.random() * batch.length);
    const from = this.isSampling ? place : 0;
    const to = from + (this.isSampling ? 1 : this.size);
    this.put(batch.slice(0, from), batch.slice(to));
    return batch.slice(from, to);
  }

  /** Whether the next batch is a single link from another place, to find out whether the service takes any. */
  get isSampling(): boolean {
    return this.largestTaken === 0 && this.#sameErrors >= NEIGHBOURS;
  }

  /** Whether a batch goes alone: while its size may be refused, and while batches fill the plan, to know what room is left. */
  goesAlone(count: number): boolean {
    return this.#isFilling || count > this.largestTaken;
  }

  /** The error because of which no other batch is worth a request, where so many links are left, or known of. */
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
    // Where no entry explains why a larger batch was refused, the largest size that was taken is the next one.
    this.#doubted = sent < count ? 0 : Math.max(0, this.#doubted - count);
    if (sent === count && this.#doubted === 0) this.size = Math.min(this.size, this.largestTaken);
  }

  /** The service refused each entry of a batch, for reasons of their own. */
  allRefused(count: number, error: ShortlinkError): void {
    this.#refusedLinks += count;
    this.#lastError = error;
    this.#doubted = 0;
  }

  /** What happens to a batch of `count` links, of which the last request had `sent`, and ended with this error. */
  judge(error: ShortlinkError, count: number, sent: number): Verdict {
    if (isOutcomeUnknown(error)) return 'unknown';
    if (PlanLimitError.isInstance(error)) return this.#judgePlanLimit(error, sent);
    if (!ApiError.isInstance(error)) return 'unsent';
    // The request that used this idempotency key before may have created the links.
    if (error.status === 409 || isKeyConflict(error)) return 'unknown';
    const { idempotencyKey, domain_id } = this.#options;
    const isOfEntry = isEntryError(error, idempotencyKey !== undefined);
    const isOfDomain = isOfEntry && domain_id !== undefined && isDomainError(error);
    if (isOfDomain || !(isOfEntry || error.status === 422)) return 'unsent';
    // It is not the room of the plan that was too small.
    this.#fillAttempts = 0;
    if (isOfEntry && sent > 1) {
      if (count > this.largestTaken) this.#doubted = count;
      return Math.ceil(count / 2);
    }
    if (count === 1) {
      const isSame = this.#lastError?.message === error.message;
      this.#sameErrors = isSame ? this.#sameErrors + 1 : 1;
      this.allRefused(1, error);
    }
    return 'failed';
  }

  #judgePlanLimit({ limit, used, allowed }: PlanLimitError, sent: number): Verdict {
    /** The number, where it is a whole number from 1 to `sent - 1`. */
    const smaller = (value = 0) =>
      Number.isInteger(value) && value >= 1 && value < sent ? value : undefined;
    // Without `limit`, a size that was taken before is not the reason, and a larger one may be.
    if (limit === 'batch_size' || (limit === undefined && sent > this.largestTaken)) {
      const named = limit === undefined ? undefined : smaller(allowed);
      const size = named ?? PLAN_BATCH_SIZES.find((size) => size < sent);
      this.size = Math.min(this.size, size ?? this.size);
      if (size !== undefined) return size;
    }
    // Numbers that make no sense leave no room to fill.
    const hasRoom = (limit === undefined || limit === 'links') && used !== undefined && used >= 0;
    const room = hasRoom ? smaller((allowed ?? used) - used) : undefined;
    if (room === undefined || this.#fillAttempts > MOST_FILL_ATTEMPTS) return 'unsent';
    this.#isFilling = true;
    return room;
  }
}

const isKeyConflict = (error: ApiError) => error.body?.code === 'idempotency_conflict';

/**
 * Whether an error is about entries of the batch or its size. With an idempotency key of the caller, 422 may also say that
 * another body used the key: then parts of the batch, which have other keys, could be created a second time.
 */
export function isEntryError(error: ApiError, hasOwnKey: boolean): boolean {
  if (isKeyConflict(error)) return false;
  return error.status === 400 || error.status === 413 || (error.status === 422 && !hasOwnKey);
}

/** Whether the service refuses the `domain_id` that every batch of the run has. */
function isDomainError(error: ApiError): boolean {
  const { details = [] } = error.body ?? {};
  const isOther = details.some(({ index, field }) => index !== undefined || field !== 'domain_id');
  return details.length > 0 && !isOther;
}

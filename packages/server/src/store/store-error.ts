export type StoreErrorReason =
  /** Another process holds the database longer than we wait. */
  | 'busy'
  /** No space is left; writes fail until there is some. */
  | 'full'
  | 'read_only'
  /** The file is damaged, or isn't a database of this program. */
  | 'corrupt'
  /** The database was migrated by a newer version of this program. */
  | 'too_new'
  /** There is no database, or it has no schema or that of an earlier version, and must not be changed. */
  | 'too_old'
  /** The database can't be opened, read or reached. */
  | 'unavailable'
  /** The input holds what the database can't store, such as U+0000 in a text. */
  | 'invalid'
  | 'closed'
  /** The write was sent, but its response was lost: it may be stored or not. */
  | 'outcome_unknown'
  /** Anything else: a fault of ours. */
  | 'internal';

/** Failures of one write, after which others may succeed. */
export const OF_ONE_WRITE: readonly StoreErrorReason[] = ['invalid', 'internal', 'closed'];

/** What a failure says of a database: a reason, and words that follow its name. */
export type KnownFailure = readonly [reason: StoreErrorReason, words: string];

/** Thrown by every method of a store that fails. Nothing of the failed call was stored, except with `outcome_unknown`. */
export class StoreError extends Error {
  override readonly name = 'StoreError';
  readonly reason: StoreErrorReason;

  constructor(reason: StoreErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}

/** What a driver threw, as a `StoreError` with words to act on, and itself as the `cause`. A failure that is not known is a fault of ours. */
export function storeErrorOf(error: unknown, name: string, known?: KnownFailure): StoreError {
  if (error instanceof StoreError) return error;
  const message = error instanceof Error ? error.message : String(error);
  const [reason, words] = known ?? ['internal', `failed: ${message}`];
  return new StoreError(reason, `The database ${name} ${words}.`, { cause: error });
}

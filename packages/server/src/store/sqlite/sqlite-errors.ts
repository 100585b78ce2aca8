import { StoreError, type StoreErrorReason } from '../store-error.ts';

/**
 * SQLite's primary result codes (https://www.sqlite.org/rescode.html) that say something about the database rather than about
 * our statements.
 */
const REASONS: ReadonlyMap<number, [reason: StoreErrorReason, words: string]> = new Map([
  [5, ['busy', 'is held by another process']],
  [6, ['busy', 'is held by another connection']],
  [8, ['read_only', 'can be read, but not written']],
  [10, ['unavailable', 'can not be read or written (disk I/O error)']],
  [11, ['corrupt', 'is damaged']],
  [13, ['full', 'can not grow: no space is left']],
  [14, ['unavailable', 'can not be opened: its directory must exist and be writable']],
  [26, ['corrupt', 'is not an SQLite database']],
]);

/** What the driver threw, as a `StoreError` whose message a person can act on; the driver's error stays the `cause`. */
export function toStoreError(error: unknown, path: string): StoreError {
  if (error instanceof StoreError) return error;
  const resultCode = sqliteResultCode(error);
  // The low byte is the primary code; the rest refines it.
  const known = resultCode === undefined ? undefined : REASONS.get(resultCode & 0xff);
  if (known) {
    const [reason, words] = known;
    return new StoreError(reason, `The database ${path} ${words}.`, { cause: error });
  }
  const message = error instanceof Error ? error.message : String(error);
  return new StoreError('internal', `The database ${path} failed: ${message}`, { cause: error });
}

function sqliteResultCode(error: unknown): number | undefined {
  if (!(error instanceof Error) || !('errcode' in error)) return undefined;
  return typeof error.errcode === 'number' ? error.errcode : undefined;
}

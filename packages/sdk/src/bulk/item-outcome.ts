import { ApiError } from '../errors/api-errors.ts';
import type { ShortlinkError } from '../errors/shortlink-error.ts';
import type { BatchLinkInput, BatchResultItem } from '../wire/batch.ts';
import type { BulkItem } from './types.ts';

/** What became of one link, without its place and input. */
export type ItemOutcome = BulkItem extends infer Item
  ? Item extends BulkItem
    ? Omit<Item, 'index' | 'input'>
    : never
  : never;

/** A batch whose links all have an outcome. They are made as they are yielded: a batch may have 10,000. */
export interface SettledBatch<T extends BatchLinkInput> {
  first: number;
  inputs: readonly T[];
  outcome: (offset: number) => ItemOutcome;
}

/** Why a link of an answered batch is unknown, where the answer gives no other reason. */
const NO_RESULT = 'The answer of the service has no result for this link';

/** Outcome of a link by its own result; `missing` is for one that has none. */
export function outcomeOfResult(
  result: BatchResultItem | undefined,
  missing?: { error: string; cause: ShortlinkError },
): ItemOutcome {
  if (result?.error) return { outcome: 'failed', error: result.error };
  if (result?.code !== undefined && result.short_url !== undefined) {
    return { outcome: 'created', code: result.code, short_url: result.short_url };
  }
  return { outcome: 'unknown', error: NO_RESULT, ...missing };
}

/** A batch is refused whole, even for one bad entry (DESIGN section 2): each link is told which it was. */
export function outcomeOfRefusal(error: ShortlinkError): (offset: number) => ItemOutcome {
  const details = (ApiError.isInstance(error) && error.body?.details) || [];
  const reasons = new Map<number, string>();
  for (const { index, field, message } of details) {
    if (index === undefined) continue;
    const earlier = reasons.get(index);
    reasons.set(index, `${earlier === undefined ? '' : `${earlier}; `}${field}: ${message}`);
  }
  const others =
    reasons.size === 0
      ? error.message
      : `Not created, because another entry of its batch was refused: ${error.message}`;
  return (offset) => ({ outcome: 'failed', error: reasons.get(offset) ?? others, cause: error });
}

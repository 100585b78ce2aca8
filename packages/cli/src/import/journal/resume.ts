import type { BatchRecord } from '@shortlink/sdk';
import type { OnUnknown } from '../types.ts';
import type { JournalBatch } from './batch-index.ts';
import type { Journal } from './journal.ts';

/** Servers keep idempotency keys for 24 hours (DESIGN section 2); an hour of it is left for clocks and waits. */
const KEY_LIFETIME_MS = 23 * 60 * 60 * 1000;

/** What `links.createMany` is told of an earlier run. */
export interface Resume {
  records: BatchRecord[];
  /** Batches whose fate stays open under the policy. */
  undecided: JournalBatch[];
}

export interface UnknownPolicy {
  onUnknown: OnUnknown;
  /** Whether requests carry an idempotency key. */
  idempotency: boolean;
  /** Now, as `Date.now()` counts. */
  wallClock: number;
}

/** Turns what the journal knows into what the client needs to go on. */
export function resumeFrom(journal: Journal, policy: UnknownPolicy): Resume {
  const records: BatchRecord[] = [];
  const undecided: JournalBatch[] = [];
  for (const batch of journal.batches.list()) {
    const { first, count } = batch;
    switch (batch.state) {
      case 'completed':
        records.push({
          first,
          count,
          state: 'completed',
          results: () => journal.results(batch.place),
        });
        break;
      case 'failed':
        records.push({ first, count, state: 'failed', error: batch.error });
        break;
      case 'accepted':
        records.push({ first, count, state: 'accepted', job_id: batch.job });
        break;
      case 'sent':
      case 'unknown': {
        if (batch.state === 'unknown' && batch.job !== undefined) {
          records.push({ first, count, state: 'accepted', job_id: batch.job });
        } else if (mayBeSentAgain(batch, policy)) {
          records.push({ first, count, state: 'planned' });
        } else {
          records.push({ first, count, state: 'unknown', error: unknownText(batch) });
          undecided.push(batch);
        }
        break;
      }
    }
  }
  return { records, undecided };
}

/** The error of links that must not be sent now, see {@link holdBack}. */
export const HELD_BACK = 'not sent: the fate of other rows must be decided first';

/**
 * Records for all links that no record speaks of, which keep `createMany` from sending them: so it sees the accepted
 * jobs to their end and sends nothing. It yields these links as unknown, with {@link HELD_BACK} as their error.
 */
export function holdBack(records: readonly BatchRecord[], links: number): BatchRecord[] {
  const held: BatchRecord[] = [];
  let position = 0;
  for (const { first, count } of [...records, { first: links, count: 0 }]) {
    if (first > position) {
      held.push({ first: position, count: first - position, state: 'unknown', error: HELD_BACK });
    }
    position = first + count;
  }
  return held;
}

/** With its key, within the key's life, the service answers a second request with the first one's links. */
function mayBeSentAgain(
  batch: { at: string; key: string | undefined },
  policy: UnknownPolicy,
): boolean {
  if (policy.onUnknown === 'retry') return true;
  const age = policy.wallClock - Date.parse(batch.at);
  return policy.idempotency && batch.key !== undefined && age < KEY_LIFETIME_MS;
}

/** Why the fate of a batch's rows is not known, for the results file. */
export function unknownText(batch: JournalBatch): string {
  if (batch.state === 'unknown') return batch.error;
  if (batch.state === 'accepted') return `accepted as job ${batch.job}, not seen completed yet`;
  return 'sent, and the import ended before the answer came';
}

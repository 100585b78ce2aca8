import { exceedsBatchSize, startOfDay, windowsAt } from '../../../domain/limits.ts';
import type { Caller, PlanLimitReached } from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import type { Session } from '../session.ts';

/** What one request wants of the account's total of links: all of it or nothing. */
export interface PlacesWanted {
  keyId: string;
  links: number;
}

export interface PlacesTaken {
  /** So many of the requests, from the first on, have their quota slots. */
  granted: number;
  /** What the others are told. */
  refusal: () => PlanLimitReached;
}

/**
 * Takes quota slots for requests of one account, in order, until the plan is full: the check, the increase and the counts in the
 * history of each key are one step (see `take_places` in the schema).
 */
export async function takePlaces(
  session: Session,
  { accountId, limits }: Caller,
  wanted: readonly PlacesWanted[],
  now: number,
): Promise<PlacesTaken> {
  const [minute] = windowsAt(now);
  const row = await session.get<{ granted: number; used_now: number }>(
    'SELECT granted, used_now FROM take_places($1, $2, $3, $4, $5, $6)',
    accountId,
    limits.links,
    startOfDay(now),
    minute.startsAt,
    wanted.map(({ keyId }) => keyId),
    wanted.map(({ links }) => links),
  );
  if (row === undefined) throw new StoreError('internal', `There is no account ${accountId}.`);
  const { granted, used_now: used } = row;
  const allowed = limits.links ?? used;
  const refusal = (): PlanLimitReached => ({
    ok: false,
    reason: 'plan_limit',
    limit: 'links',
    used,
    allowed,
  });
  return { granted, refusal };
}

/** Refuses a batch that has more links than the plan allows in one request, and counts that in the history of the key. */
export async function refuseLargeBatch(
  session: Session,
  { keyId, limits }: Caller,
  count: number,
  now: number,
): Promise<PlanLimitReached | undefined> {
  const allowed = limits.batch_size;
  if (allowed === null || !exceedsBatchSize(limits, count)) return undefined;
  const [minute] = windowsAt(now);
  await session.run(
    `WITH history AS (
       INSERT INTO key_links AS history (key_id, day, links, refused) VALUES ($1, $2, 0, 1)
       ON CONFLICT (key_id, day) DO UPDATE SET refused = history.refused + 1)
     INSERT INTO key_refusals AS refusals (key_id, minute, reason, count) VALUES ($1, $3, 'batch_size', 1)
     ON CONFLICT (key_id, minute, reason) DO UPDATE SET count = refusals.count + 1`,
    keyId,
    startOfDay(now),
    minute.startsAt,
  );
  return { ok: false, reason: 'plan_limit', limit: 'batch_size', used: count, allowed };
}

import type { RefusalReason } from '@shortlink/sdk/wire';
import { exceedsBatchSize } from '../../../domain/limits.ts';
import { startOfDay, windowsAt } from '../../../domain/windows.ts';
import type { Caller, PlanLimitReached } from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import type { Session } from '../session.ts';

/** Requests for one place each, or one request for many, of one account. */
export interface PlacesWanted {
  caller: Caller;
  /** How many for each key. */
  byKey: ReadonlyMap<string, number>;
  now: number;
}

/**
 * Takes places of the account's total of links, all or none: the check and the increase are one statement, and so is the
 * count in the history of each key. True when they are taken.
 */
export async function tryTakePlaces(
  session: Session,
  { caller, byKey, now }: PlacesWanted,
): Promise<boolean> {
  const keys = [...byKey.keys()].toSorted();
  const counts = keys.map((key) => byKey.get(key) ?? 0);
  const counted = await session.run(
    `WITH taken AS (
       UPDATE link_totals SET used = used + $2
       WHERE account_id = $1 AND ($3::bigint IS NULL OR used + $2 <= $3) RETURNING used)
     INSERT INTO key_links AS history (key_id, day, links, refused)
       SELECT key, $4, links, 0 FROM taken, unnest($5::text[], $6::bigint[]) AS wanted (key, links)
     ON CONFLICT (key_id, day) DO UPDATE SET links = history.links + excluded.links`,
    caller.accountId,
    counts.reduce((sum, count) => sum + count, 0),
    caller.limits.links,
    startOfDay(now),
    keys,
    counts,
  );
  return counted > 0;
}

/** Takes `count` places or answers the refusal, which the history of the key gets. */
export async function takePlaces(
  session: Session,
  caller: Caller,
  count: number,
  now: number,
): Promise<PlanLimitReached | undefined> {
  const byKey = new Map([[caller.keyId, count]]);
  if (await tryTakePlaces(session, { caller, byKey, now })) return undefined;
  const total = await session.get<{ used: number }>(
    'SELECT used FROM link_totals WHERE account_id = $1',
    caller.accountId,
  );
  const allowed = caller.limits.links;
  if (total === undefined || allowed === null) {
    throw new StoreError('internal', `There is no account ${caller.accountId}.`);
  }
  await countRefusal(session, caller, 'links', now);
  return { ok: false, reason: 'plan_limit', limit: 'links', used: total.used, allowed };
}

/** Refuses a batch that has more links than the plan allows in one request. */
export async function refuseLargeBatch(
  session: Session,
  caller: Caller,
  count: number,
  now: number,
): Promise<PlanLimitReached | undefined> {
  const allowed = caller.limits.batch_size;
  if (allowed === null || !exceedsBatchSize(caller.limits, count)) return undefined;
  await countRefusal(session, caller, 'batch_size', now);
  return { ok: false, reason: 'plan_limit', limit: 'batch_size', used: count, allowed };
}

/** In the history of the key, and among its last refusals. */
async function countRefusal(
  session: Session,
  { keyId }: Caller,
  reason: RefusalReason,
  now: number,
): Promise<void> {
  const [minute] = windowsAt(now);
  await session.run(
    `INSERT INTO key_links AS history (key_id, day, links, refused) VALUES ($1, $2, 0, 1)
     ON CONFLICT (key_id, day) DO UPDATE SET refused = history.refused + 1`,
    keyId,
    startOfDay(now),
  );
  await session.run(
    `INSERT INTO key_refusals AS refusals (key_id, minute, reason, count) VALUES ($1, $2, $3, 1)
     ON CONFLICT (key_id, minute, reason) DO UPDATE SET count = refusals.count + 1`,
    keyId,
    minute.startsAt,
    reason,
  );
}

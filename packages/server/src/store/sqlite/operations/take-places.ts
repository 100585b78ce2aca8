import { exceedsBatchSize } from '../../../domain/limits.ts';
import { startOfDay } from '../../../domain/windows.ts';
import type { Caller, PlanLimitReached } from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import type { Database } from '../database.ts';
import { addRefusal } from './add-refusal.ts';

/**
 * Takes `count` places of the account's total of links, or none: the check and the increase are one statement.
 * Answers the refusal, or `undefined` when the places are taken.
 */
export function takePlaces(
  db: Database,
  caller: Caller,
  count: number,
  now: number,
): PlanLimitReached | undefined {
  const allowed = caller.limits.links;
  const taken = db.run(
    `UPDATE accounts SET links_used = links_used + ?
     WHERE id = ? AND links_used + ? <= coalesce(?, links_used + ?)`,
    count,
    caller.accountId,
    count,
    allowed,
    count,
  );
  if (taken === 1) {
    addToDay(db, caller, now, { links: count, refused: 0 });
    return undefined;
  }
  const account = db.get<{ links_used: number }>(
    'SELECT links_used FROM accounts WHERE id = ?',
    caller.accountId,
  );
  if (account === undefined || allowed === null) {
    throw new StoreError('internal', `There is no account ${caller.accountId}.`);
  }
  addToDay(db, caller, now, { links: 0, refused: 1 });
  addRefusal(db, caller, 'links', now);
  return { ok: false, reason: 'plan_limit', limit: 'links', used: account.links_used, allowed };
}

/** Refuses a batch that has more links than the plan allows in one request. */
export function refuseLargeBatch(
  db: Database,
  caller: Caller,
  count: number,
  now: number,
): PlanLimitReached | undefined {
  const allowed = caller.limits.batch_size;
  if (allowed === null || !exceedsBatchSize(caller.limits, count)) return undefined;
  addToDay(db, caller, now, { links: 0, refused: 1 });
  addRefusal(db, caller, 'batch_size', now);
  return { ok: false, reason: 'plan_limit', limit: 'batch_size', used: count, allowed };
}

/** Counts into the key's own history; a day that begins between admission and create has no row yet. */
function addToDay(
  db: Database,
  caller: Caller,
  now: number,
  counts: { links: number; refused: number },
): void {
  db.run(
    `INSERT INTO key_days (key_id, day, requests, refused, links, minute, minute_requests)
     VALUES (?, ?, 0, ?, ?, 0, 0)
     ON CONFLICT DO UPDATE SET refused = refused + excluded.refused, links = links + excluded.links`,
    caller.keyId,
    startOfDay(now),
    counts.refused,
    counts.links,
  );
}

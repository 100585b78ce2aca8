import {
  lastToEnd,
  refusingWindow,
  type WindowName,
  windowState,
  windowsAt,
} from '../../domain/limits.ts';
import { rowsOf, sql, type Writing } from '../queries/reading.ts';
import type { Admission, Caller } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { Database } from './database.ts';
import { arrayOf } from './statement.ts';

/** Counts requests of an account, given the keys that they came with, in the order of their arrival. */
export async function admit(
  db: Database,
  { accountId, limits }: Caller,
  now: number,
  keyIds: readonly string[],
): Promise<Admission[]> {
  const windows = windowsAt(now);
  const [minute, day, month] = windows;
  const refusing = arrayOf(lastToEnd(windows).map(({ name }) => name));
  const row = await db.writeStatement<Record<WindowName | 'granted', number>>(
    sql`SELECT granted, day_used AS day, minute_used AS minute, month_used AS month FROM admit_requests(${accountId}, ${day.startsAt}, ${minute.startsAt}, ${month.startsAt},
      ${limits.requests_per_day}, ${limits.requests_per_minute}, ${limits.requests_per_month}, ${refusing}, ${arrayOf(keyIds)})`,
  );
  const statesAfter = (passed: number) =>
    windows.map((window) => windowState(window, limits, row[window.name] + passed));
  return keyIds.map((_, index): Admission => {
    if (index < row.granted) return { admitted: true, windows: statesAfter(index + 1) };
    const states = statesAfter(row.granted);
    const refusedBy = refusingWindow(states);
    if (refusedBy !== undefined) return { admitted: false, windows: states, refusedBy };
    throw new StoreError('internal', 'A request was refused although no window is full.');
  });
}

/** Not waited for on disk, like the admission it takes back. Rows are locked in the order of `admit_requests`. */
export async function refund(db: Database, caller: Caller, now: number): Promise<void> {
  const [minute, day, month] = windowsAt(now);
  await db.writeStatement(
    sql`SELECT refund_request(${caller.accountId}, ${day.startsAt}, ${minute.startsAt}, ${month.startsAt}, ${caller.keyId})`,
  );
}

const STEP_ACCOUNTS = 1_000;

/** Adds the last minute of accounts that have had no request since to its windows, before those are deleted. Returns `true` when there is more. */
export function* rollUpRequests(now: number): Writing<boolean> {
  const [, day, month] = windowsAt(now);
  const accounts = yield* rowsOf(sql`
    SELECT roll_up_requests(account_id, ${month.startsAt}, NULL) FROM (
      SELECT DISTINCT account_id FROM request_minutes WHERE minute < ${day.startsAt}
      ORDER BY account_id LIMIT ${STEP_ACCOUNTS}) AS idle`);
  return accounts.length === STEP_ACCOUNTS;
}

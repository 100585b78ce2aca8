import {
  lastToEnd,
  refusingWindow,
  type WindowName,
  windowState,
  windowsAt,
} from '../../domain/limits.ts';
import { rowsOf, sql, type Writing } from '../queries/reading.ts';
import type { Admission, CreateRequest } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { Database } from './database.ts';
import { arrayOf } from './statement.ts';

export type AdmissionRequest = Pick<CreateRequest<unknown>, 'caller' | 'now'>;

/** Requests with the same one are counted by one statement: those of an account in the same minute, under the same limits. */
export function admissionGroup({ caller, now }: AdmissionRequest): string {
  const [minute] = windowsAt(now);
  return [caller.accountId, minute.startsAt, JSON.stringify(caller.limits)].join(' ');
}

/** Counts the requests of a group (see {@link admissionGroup}) in the order of their arrival. */
export async function admit(
  db: Database,
  requests: readonly AdmissionRequest[],
): Promise<Admission[]> {
  const [first] = requests;
  if (first === undefined) return [];
  const { limits, accountId } = first.caller;
  const windows = windowsAt(first.now);
  const [minute, day, month] = windows;
  const refusing = arrayOf(lastToEnd(windows).map(({ name }) => name));
  const keys = arrayOf(requests.map(({ caller }) => caller.keyId));
  const row = await db.writeStatement<Record<WindowName | 'granted', number>>(
    sql`SELECT granted, day_used AS day, minute_used AS minute, month_used AS month FROM admit_requests(${accountId}, ${day.startsAt}, ${minute.startsAt}, ${month.startsAt},
      ${limits.requests_per_day}, ${limits.requests_per_minute}, ${limits.requests_per_month}, ${refusing}, ${keys})`,
  );
  const statesAfter = (passed: number) =>
    windows.map((window) => windowState(window, limits, row[window.name] + passed));
  return requests.map((_, index): Admission => {
    if (index < row.granted) return { admitted: true, windows: statesAfter(index + 1) };
    const states = statesAfter(row.granted);
    const refusedBy = refusingWindow(states);
    if (refusedBy !== undefined) return { admitted: false, windows: states, refusedBy };
    throw new StoreError('internal', 'A request was refused although no window is full.');
  });
}

/** Not waited for on disk, like the admission it takes back. Rows are locked in the order of `admit_requests`. */
export async function refund(db: Database, { caller, now }: AdmissionRequest): Promise<void> {
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

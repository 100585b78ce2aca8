import type { RequestWindow, WindowName } from '../../../domain/windows.ts';
import type { Database } from '../database.ts';

/** Requests counted for the account in each of these windows. */
export function requestsUsed(
  db: Database,
  accountId: string,
  [minute, day, month]: readonly [RequestWindow, RequestWindow, RequestWindow],
): Record<WindowName, number> {
  const used = { minute: 0, day: 0, month: 0 };
  const rows = db.all<{ window: WindowName; used: number }>(
    `SELECT window, used FROM request_counters
     WHERE account_id = ? AND (window, starts_at) IN (VALUES ('minute', ?), ('day', ?), ('month', ?))`,
    accountId,
    minute.startsAt,
    day.startsAt,
    month.startsAt,
  );
  for (const row of rows) used[row.window] = row.used;
  return used;
}

import { refusingWindow, windowState } from '../../../domain/limits.ts';
import { startOfDay, windowsAt } from '../../../domain/windows.ts';
import { requestsUsed } from '../queries/request-counters.ts';
import { addRefusal } from './add-refusal.ts';
import type { Operation } from './operations.ts';

export const admit: Operation<'admit'> = ({ db }, { caller, now }) => {
  const windows = windowsAt(now);
  const used = requestsUsed(db, caller.accountId, windows);
  const states = windows.map((window) => windowState(window, caller.limits, used[window.name]));
  const refusedBy = refusingWindow(states);
  const [minute, day, month] = windows;
  const passed = refusedBy === undefined ? 1 : 0;
  if (refusedBy === undefined) {
    db.run(
      `INSERT INTO request_counters (account_id, window, starts_at, used)
       VALUES (?, 'minute', ?, 1), (?, 'day', ?, 1), (?, 'month', ?, 1)
       ON CONFLICT DO UPDATE SET used = used + 1`,
      caller.accountId,
      minute.startsAt,
      caller.accountId,
      day.startsAt,
      caller.accountId,
      month.startsAt,
    );
    for (const state of states) state.used += 1;
  }
  db.run(
    `INSERT INTO key_days (key_id, day, requests, refused, links, minute, minute_requests)
     VALUES (?, ?, ?, ?, 0, ?, ?)
     ON CONFLICT DO UPDATE SET
       requests = requests + excluded.requests,
       refused = refused + excluded.refused,
       minute_requests = excluded.minute_requests + iif(minute = excluded.minute, minute_requests, 0),
       minute = excluded.minute`,
    caller.keyId,
    day.startsAt,
    passed,
    1 - passed,
    minute.startsAt,
    passed,
  );
  if (refusedBy === undefined) return { admitted: true, windows: states };
  addRefusal(db, caller, refusedBy.name, now);
  return { admitted: false, windows: states, refusedBy };
};

export const refund: Operation<'refund'> = ({ db }, { caller, now }) => {
  for (const window of windowsAt(now)) {
    db.run(
      `UPDATE request_counters SET used = used - 1
       WHERE account_id = ? AND window = ? AND starts_at = ? AND used > 0`,
      caller.accountId,
      window.name,
      window.startsAt,
    );
  }
  const [minute] = windowsAt(now);
  db.run(
    `UPDATE key_days SET
       requests = requests - 1,
       minute_requests = minute_requests - iif(minute = ? AND minute_requests > 0, 1, 0)
     WHERE key_id = ? AND day = ? AND requests > 0`,
    minute.startsAt,
    caller.keyId,
    startOfDay(now),
  );
};

import { refusingWindow, startOfDay, windowState, windowsAt } from '../../../domain/limits.ts';
import { add } from './counters.ts';
import type { Operation } from './operations.ts';

export const admit: Operation<'admit'> = ({ counters }, caller, now) => {
  const windows = windowsAt(now);
  const counts = windows.map((window) => counters.requests(caller.accountId, window));
  const states = windows.map((window, index) =>
    windowState(window, caller.limits, counts[index]?.used ?? 0),
  );
  const refusedBy = refusingWindow(states);
  const [minute, { startsAt: today }] = windows;
  const day = counters.keyDay(caller.keyId, today);
  if (day.minute !== minute.startsAt)
    Object.assign(day, { minute: minute.startsAt, minuteRequests: 0 });
  if (refusedBy !== undefined) {
    day.refused += 1;
    counters.addRefusal(caller.keyId, minute.startsAt, refusedBy.name);
    return { admitted: false, windows: states, refusedBy };
  }
  day.requests += 1;
  day.minuteRequests += 1;
  for (const count of counts) add(count, 1);
  for (const state of states) state.used += 1;
  return { admitted: true, windows: states };
};

export const refund: Operation<'refund'> = ({ db }, caller, now) => {
  const windows = windowsAt(now);
  for (const window of windows) {
    db.run(
      `UPDATE request_counters SET used = used - 1
       WHERE account_id = ? AND window = ? AND starts_at = ? AND used > 0`,
      caller.accountId,
      window.name,
      window.startsAt,
    );
  }
  db.run(
    `UPDATE key_days SET
       requests = requests - 1,
       minute_requests = minute_requests - iif(minute = ? AND minute_requests > 0, 1, 0)
     WHERE key_id = ? AND day = ? AND requests > 0`,
    windows[0].startsAt,
    caller.keyId,
    startOfDay(now),
  );
};

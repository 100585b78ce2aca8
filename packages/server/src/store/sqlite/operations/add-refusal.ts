import type { RefusalReason } from '@shortlink/sdk/wire';
import { windowsAt } from '../../../domain/windows.ts';
import type { Caller } from '../../store.ts';
import type { Database } from '../database.ts';

/** Remembers that a limit refused a request of this key. */
export function addRefusal(db: Database, caller: Caller, reason: RefusalReason, now: number): void {
  const [minute] = windowsAt(now);
  db.run(
    `INSERT INTO key_refusals (key_id, minute, reason, count) VALUES (?, ?, ?, 1)
     ON CONFLICT DO UPDATE SET count = count + 1`,
    caller.keyId,
    minute.startsAt,
    reason,
  );
}

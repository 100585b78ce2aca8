import { rowsOf, type Writing } from './queries/reading.ts';
import type { ClickWrite } from './store.ts';

/**
 * Records a write of clicks, in the transaction that adds them. `false`: it was carried out before. A transaction whose outcome is still
 * open holds the row, and the repeated write waits for it.
 */
export function* recordClickWrite({ writer, number, now }: ClickWrite): Writing<boolean> {
  const recorded = yield* rowsOf(
    `INSERT INTO click_writes (writer, number, written_at) VALUES (?, ?, ?)
     ON CONFLICT (writer) DO UPDATE SET number = excluded.number, written_at = excluded.written_at
       WHERE click_writes.number < excluded.number
     RETURNING number`,
    writer,
    number,
    now,
  );
  return recorded.length > 0;
}

import { rankLinks } from '../../queries/links.ts';
import { rowsOf, sql, type Writing } from '../../queries/reading.ts';
import { listOf } from '../statement.ts';
import { table } from './engine.ts';

/**
 * Rows over which the clicks of a hot link are spread, so that instances which write at the same time seldom meet. Reading a
 * link adds them up.
 */
export const CLICK_SLOTS = 16;

/** Clicks of one write that make a link hot. Others are counted in slot 0, so that they have one row, not one per instance. */
const HOT_CLICKS = 10;

/** Only one instance ranks at a time, so that two instances can't deadlock. Any number that isn't used elsewhere in this database. */
const RANK_LOCK = 7_305_812_449;

/**
 * Adds clicks in one statement. Codes are in order, so that two instances lock rows in the same order; unknown ones are left out.
 *
 * @param slot - The instance's own, from 0 to {@link CLICK_SLOTS}, exclusive.
 */
export function* addClicks(clicks: ReadonlyMap<string, number>, slot: number): Writing<void> {
  const rows = [...clicks].map(([code, added]) => ({ code, added }));
  yield* rowsOf(sql`
    INSERT INTO link_clicks AS counted (code, slot, clicks)
      SELECT code, CASE WHEN added >= ${HOT_CLICKS} THEN ${slot}::smallint ELSE 0 END, added
      FROM ${listOf({ code: 'text', added: 'bigint' }, rows)}
      WHERE EXISTS (SELECT FROM links WHERE links.code = listed.code)
      ORDER BY code
    ON CONFLICT (code, slot) DO UPDATE SET clicks = counted.clicks + excluded.clicks`);
  yield* rankLinks({ table }, clicks.keys(), sql`pg_try_advisory_xact_lock(${RANK_LOCK})`);
}

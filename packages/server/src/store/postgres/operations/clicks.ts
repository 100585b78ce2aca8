import type { Session } from '../session.ts';

/**
 * Rows over which the clicks of a hot link are spread, so that instances which write at the same time seldom meet. Reading a
 * link adds them up.
 */
export const CLICK_SLOTS = 16;

/** Clicks of one write that make a link hot. Others are counted in slot 0, so that they have one row, not one per instance. */
const HOT_CLICKS = 10;

/**
 * Adds clicks in one statement. Codes are in order, so that two instances lock rows in the same order; unknown ones are left
 * out.
 *
 * @param slot - The instance's own, from 0 to {@link CLICK_SLOTS}, exclusive.
 */
export async function addClicks(
  session: Session,
  clicks: ReadonlyMap<string, number>,
  slot: number,
): Promise<void> {
  const codes = [...clicks.keys()].toSorted();
  const counts = codes.map((code) => clicks.get(code) ?? 0);
  await session.run(
    `INSERT INTO link_clicks AS counted (code, slot, clicks)
       SELECT code, CASE WHEN added >= ${HOT_CLICKS} THEN $3::smallint ELSE 0 END, added
       FROM unnest($1::text[], $2::bigint[]) WITH ORDINALITY AS new (code, added, place)
       WHERE EXISTS (SELECT FROM links WHERE links.code = new.code)
       ORDER BY place
     ON CONFLICT (code, slot) DO UPDATE SET clicks = counted.clicks + excluded.clicks`,
    codes,
    counts,
    slot,
  );
}

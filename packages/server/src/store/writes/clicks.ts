import type { Engine, Writes } from '../engine.ts';
import { recordWrite } from '../links.ts';
import { rowOf, rowsOf, sql, type Writing } from '../queries/reading.ts';

/** Clicks of one write that make a link hot. Others are counted in slot 0, so that they have one row, not one per instance. */
const HOT_CLICKS = 10;

/** Most clicked links of an account that are kept: more than are shown, since their order changes between two rankings. */
const TOP_LINKS_KEPT = 20;

/** Links that are ranked with one write of clicks: a few milliseconds. Links that are often clicked are soon among the first of a write. */
const RANKED_TOGETHER = 50;

export const clickWrites = {
  /** Adds clicks of known codes in their order, so that two instances lock rows in the same one. */
  *addClicks(engine, clicks, write) {
    if (write !== undefined && (yield* rowOf(recordWrite(write))) === undefined) return;
    const rows = [...clicks].map(([code, added]) => ({ code, added }));
    yield* rowsOf(sql`
      INSERT INTO link_clicks AS counted (code, slot, clicks)
        SELECT code, CASE WHEN CAST(added AS bigint) >= ${HOT_CLICKS} THEN CAST(${engine.clickSlot} AS smallint) ELSE 0 END, CAST(added AS bigint)
        FROM ${engine.table(['code', 'added'], rows)}
        WHERE EXISTS (SELECT 1 FROM links WHERE links.code = listed.code)
        ORDER BY code
      ON CONFLICT (code, slot) DO UPDATE SET clicks = counted.clicks + excluded.clicks`);
    yield* rankLinks(engine, rows);
  },
} satisfies Writes;

/**
 * Puts the first {@link RANKED_TOGETHER} of these links into the lists of the most clicked ones, and takes out what is no longer among them.
 * Nothing is done while another instance does this: a link that is often clicked comes again.
 */
export function* rankLinks({ table, mayRank }: Engine, links: { code: string }[]): Writing<void> {
  const list = sql`SELECT code FROM ${table(['code'], links.slice(0, RANKED_TOGETHER))}`;
  const ranked = yield* rowsOf(sql`
    INSERT INTO top_links (account_id, code, clicks)
      SELECT account_id, code, click_count FROM link_details
      WHERE code IN (${list}) AND ${mayRank} AND click_count > coalesce(
        (SELECT clicks FROM top_links WHERE top_links.account_id = link_details.account_id
         ORDER BY clicks DESC LIMIT 1 OFFSET ${TOP_LINKS_KEPT - 1}), 0)
    ON CONFLICT (account_id, code) DO UPDATE SET clicks = excluded.clicks RETURNING account_id`);
  if (ranked.length === 0) return;
  yield* rowsOf(sql`
    DELETE FROM top_links WHERE (account_id, code) IN (
      SELECT account_id, code FROM (
        SELECT account_id, code, row_number() OVER (PARTITION BY account_id ORDER BY clicks DESC, code) AS place
        FROM top_links WHERE account_id IN (SELECT account_id FROM links WHERE code IN (${list}))) AS placed
      WHERE place > ${TOP_LINKS_KEPT})`);
}

import type { Link } from '@shortlink/sdk/wire';
import type { LookupEntry, LookupTarget } from '../../domain/validate-link.ts';
import { NO_ID, type ShortUrl, targetNumber } from '../links.ts';
import { type LinkRow, SELECT_LINK, toLink } from '../queries/links.ts';
import { type Statement, sql, sqlText } from '../queries/reading.ts';
import type { Database } from './database.ts';

/**
 * What is added to the 32 bits of a target's number, given the `rowid` of the link in SQL. The numbers of a million links that were created one
 * after the other are a bucket, together in the index, so that new links are written to one part of it. A look-up looks into each bucket.
 */
export function bucketOf(rowid: string): Statement {
  return sqlText(`(${rowid} / 1000000 << 32)`);
}

/** The buckets that exist, and the first one: a step in the index for each. */
const BUCKETS = sql`
  WITH RECURSIVE found (bucket) AS (
    SELECT 0
    UNION ALL
    SELECT (SELECT min(target_number) FROM links WHERE target_number >= bucket + (1 << 32)) >> 32 << 32
      FROM found WHERE bucket IS NOT NULL)
  SELECT bucket FROM found WHERE bucket IS NOT NULL`;

/** Rows of one statement for the entries that are read together. Where there are more, each entry is read by itself. */
const MAX_ROWS = 500;

/** Finds the links of each entry, oldest first, in one statement for all. Its numbers are not bound: a bound LIMIT makes SQLite plan again. */
export function linkFinder(
  db: Database,
  shortUrl: ShortUrl,
  account_id: string,
  most: number,
): (entries: readonly LookupEntry[]) => Link[][] {
  const buckets = db.all<{ bucket: number }>(BUCKETS).map(({ bucket }) => bucket);
  const numberOf = (target: LookupTarget) =>
    target.number ?? targetNumber({ ...target, account_id });
  /** The first links of a target after another one. Those of each bucket are read in order. */
  const read = (entry: LookupTarget) => {
    const { target_url, domain_id, after = NO_ID } = entry;
    const number = numberOf(entry);
    return buckets.flatMap((bucket) =>
      db.all<LinkRow>(sql`
        ${SELECT_LINK} WHERE target_number = ${bucket + number} AND id_ms >= unhex(${after.slice(0, 13)}, '-') AND link_details.id > ${after}
          AND link_details.account_id = ${account_id} AND domain_id IS ${domain_id} AND target_url = ${target_url}
        ORDER BY id_ms, link_details.id LIMIT ${sqlText(String(most))}`),
    );
  };
  return (entries) => {
    const codes = entries.flatMap((entry) => ('code' in entry ? entry.code : []));
    const numbers = entries.flatMap((entry) => ('code' in entry ? [] : numberOf(entry)));
    const withCodes = db.all<LinkRow>(sql`
      ${SELECT_LINK} WHERE code IN (SELECT value FROM json_each(${JSON.stringify(codes)})) AND link_details.account_id = ${account_id}`);
    const rows = db.all<LinkRow>(sql`
      ${SELECT_LINK} WHERE target_number IN (SELECT bucket.value + entry.value
          FROM json_each(${JSON.stringify(buckets)}) AS bucket, json_each(${JSON.stringify(numbers)}) AS entry)
        AND link_details.account_id = ${account_id} LIMIT ${sqlText(String(MAX_ROWS))}`);
    const ofCode = Map.groupBy(withCodes, ({ code }) => code);
    const ofTarget = Map.groupBy(rows, ({ target_url }) => target_url);
    const rowsFor = (entry: LookupEntry) => {
      if ('code' in entry) return ofCode.get(entry.code) ?? [];
      const ofUrl = ofTarget.get(entry.target_url) ?? [];
      const mayBeMore = rows.length === MAX_ROWS || entry.after !== undefined;
      return mayBeMore ? read(entry) : ofUrl.filter((row) => row.domain_id === entry.domain_id);
    };
    return entries.map((entry) => {
      const found = rowsFor(entry).toSorted((a, b) => (a.id < b.id ? -1 : 1));
      return found.slice(0, most).map((row) => toLink(shortUrl, row));
    });
  };
}

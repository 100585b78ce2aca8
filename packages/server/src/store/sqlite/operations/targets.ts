import type { Link } from '@shortlink/sdk/wire';
import type { LookupEntry } from '../../../domain/validate-lookup.ts';
import { NO_ID, type ShortUrl, type Targeted, targetNumber } from '../../links.ts';
import { findLink, type LinkRow, SELECT_LINK, toLink } from '../../queries/links.ts';
import {
  rowOf,
  rowsOf,
  type Statement,
  sql,
  sqlText,
  type Writing,
} from '../../queries/reading.ts';
import type { Database } from '../database.ts';
import type { SqliteEngine } from './engine.ts';

/**
 * Links that were created one after the other, and whose numbers are together in the index. So new links are written to one end of it: in an
 * index of a million random numbers, nearly each link of a batch would write a page of its own. A look-up looks into each bucket.
 */
const BUCKET_LINKS = 200_000;

/** What is added to the 32 bits of a target's number, given the `rowid` of the link in SQL. */
export function bucketOf(rowid: string): Statement<never> {
  return sqlText(`(${rowid} / ${BUCKET_LINKS} << 32)`);
}

/** Numbers the targets of one block of links that have none: other writes wait for some milliseconds. */
export function* indexLinks({ db }: SqliteEngine): Writing<{ done: boolean }> {
  const first = yield* rowOf<{ block: number }>(
    sql`SELECT block FROM unnumbered_links WHERE block >= 0 LIMIT 1`,
  );
  if (first === undefined) return { done: true };
  const { block } = first;
  const links = yield* rowsOf<Targeted & { rowid: number }>(sql`
    SELECT rowid, account_id, domain_id, target_url FROM links
    WHERE rowid BETWEEN ${block} << 10 AND (${block} << 10) + 1023 AND target_number IS NULL`);
  for (const link of links) {
    yield* rowsOf(sql`
      UPDATE links SET target_number = ${targetNumber(link)} + ${bucketOf('rowid')} WHERE rowid = ${link.rowid}`);
  }
  yield* rowsOf(sql`DELETE FROM unnumbered_links WHERE block = ${block}`);
  return { done: isIndexed(db) };
}

/** Whether the target of every link has its number. */
export function isIndexed(db: Database): boolean {
  return db.get('SELECT block FROM unnumbered_links LIMIT 1') === undefined;
}

/**
 * Finds the links that one entry of a look-up asks for, oldest first, at most `most` of them. This number is in the text of the statements:
 * SQLite plans a statement again when a value is bound to its LIMIT, which takes longer than the reading.
 */
export function linkFinder(
  db: Database,
  shortUrl: ShortUrl,
  account_id: string,
  most: number,
): (entry: LookupEntry) => Link[] {
  const newest = db.get<{ bucket: number }>(
    `SELECT ifnull(max(rowid), 0) / ${BUCKET_LINKS} AS bucket FROM links`,
  );
  const buckets = Array.from({ length: 1 + (newest?.bucket ?? 0) }, (_, bucket) => bucket);
  const ofTarget = 'link_details.account_id = ? AND domain_id IS ? AND target_url = ?';
  const ofBuckets = `${SELECT_LINK.text}
    WHERE target_number IN (${buckets.map(() => '?').join()}) AND ${ofTarget} LIMIT ${most}`;
  const oldestOfBucket = `${SELECT_LINK.text}
    WHERE target_number = ? AND id_time >= ? AND link_details.id > ? AND ${ofTarget}
    ORDER BY id_time, link_details.id LIMIT ${most}`;
  return (entry) => {
    if ('code' in entry) {
      const link = db.read(findLink(shortUrl, entry.code, account_id));
      return link === undefined ? [] : [link];
    }
    const { target_url, domain_id, after } = entry;
    const number = targetNumber({ account_id, domain_id, target_url });
    const numbers = buckets.map((bucket) => number + bucket * 2 ** 32);
    const values = [account_id, domain_id, target_url];
    let rows: LinkRow[] = [];
    if (after === undefined) rows = db.all({ text: ofBuckets, values: [...numbers, ...values] });
    if (after !== undefined || rows.length === most) {
      // There may be more, and older ones. Those of a bucket are read in order, which takes longer.
      const from = [(after ?? NO_ID).slice(0, 13), after ?? NO_ID];
      rows = numbers.flatMap((one) =>
        db.all<LinkRow>({ text: oldestOfBucket, values: [one, ...from, ...values] }),
      );
    }
    return rows
      .sort((a, b) => (a.id < b.id ? -1 : 1))
      .slice(0, most)
      .map((row) => toLink(shortUrl, row));
  };
}

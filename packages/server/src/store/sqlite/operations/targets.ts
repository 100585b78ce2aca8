import type { Link } from '@shortlink/sdk/wire';
import type { LookupEntry } from '../../../domain/validate-lookup.ts';
import { NO_ID, type ShortUrl, type Targeted, targetNumber } from '../../links.ts';
import { findLink, type LinkRow, SELECT_LINK, toLink } from '../../queries/links.ts';
import { sql } from '../../queries/reading.ts';
import type { Database } from '../database.ts';
import type { Operation } from './operations.ts';

/** Numbers the targets of one block of links that have none: other writes wait for some milliseconds. */
export const indexLinks: Operation<'indexLinks'> = ({ db }) => {
  const first = db.get<{ block: number }>('SELECT block FROM unnumbered_links LIMIT 1');
  if (first === undefined) return { done: true };
  const { block } = first;
  const links = db.all<Targeted & { rowid: number }>(sql`
    SELECT rowid, account_id, domain_id, target_url FROM links
    WHERE rowid BETWEEN ${block} << 10 AND (${block} << 10) + 1023 AND target_number IS NULL`);
  for (const link of links) {
    db.run(sql`UPDATE links SET target_number = ${targetNumber(link)} WHERE rowid = ${link.rowid}`);
  }
  db.run(sql`DELETE FROM unnumbered_links WHERE block = ${block}`);
  return { done: isIndexed(db) };
};

/** Whether the target of every link has its number. */
export function isIndexed(db: Database): boolean {
  return db.get('SELECT block FROM unnumbered_links LIMIT 1') === undefined;
}

/** Without its limit, which has to be in the text: SQLite plans a statement again when a value is bound to its LIMIT, which takes longer than the reading. */
const LINKS_OF_TARGET = `
  ${SELECT_LINK.text} WHERE target_number = ? AND id_time >= ? AND link_details.id > ?
    AND link_details.account_id = ? AND domain_id IS ? AND target_url = ?
  ORDER BY id_time, link_details.id LIMIT `;

/** The links that one entry of a look-up asks for. */
export function findLinksOf(
  db: Database,
  shortUrl: ShortUrl,
  account_id: string,
  entry: LookupEntry,
  most: number,
): Link[] {
  if ('code' in entry) {
    const link = db.read(findLink(shortUrl, entry.code, account_id));
    return link === undefined ? [] : [link];
  }
  const { target_url, domain_id, after = NO_ID } = entry;
  const number = targetNumber({ account_id, domain_id, target_url });
  const values = [number, after.slice(0, 13), after, account_id, domain_id, target_url];
  return db
    .all<LinkRow>({ text: LINKS_OF_TARGET + most, values })
    .map((row) => toLink(shortUrl, row));
}

import type { Link } from '@shortlink/sdk/wire';
import type { LookupEntry, LookupTarget } from '../../../domain/validate-lookup.ts';
import { type ShortUrl, type Targeted, targetNumber, timeOfId } from '../../links.ts';
import { findLink } from '../../queries/links.ts';
import { sql } from '../../queries/reading.ts';
import type { Database } from '../database.ts';
import type { Operation } from './operations.ts';

/** Links of one step: other writes wait for some milliseconds. */
export const STEP_LINKS = 2_000;

/** Links get their rowids in the order of their commits, so those that are not indexed come after those that are. */
export const indexLinks: Operation<'indexLinks'> = ({ db }) => {
  const links = db.all<Targeted & { rowid: number; id: string }>(sql`
    SELECT rowid, id, account_id, domain_id, target_url FROM links
    WHERE rowid > (SELECT last_link FROM indexed_links) ORDER BY rowid LIMIT ${STEP_LINKS}`);
  for (const link of links) {
    db.run(sql`
      INSERT INTO link_targets (number, made_at, link) VALUES (${targetNumber(link)}, ${timeOfId(link.id)}, ${link.rowid})
      ON CONFLICT DO NOTHING`);
  }
  const last = links.at(-1);
  if (last !== undefined) db.run(sql`UPDATE indexed_links SET last_link = ${last.rowid}`);
  return { done: links.length < STEP_LINKS };
};

/** Whether every link is in the index of targets. */
export function isIndexed(db: Database): boolean {
  const [row] = db.all<{ done: number }>(sql`
    SELECT last_link >= coalesce((SELECT max(rowid) FROM links), 0) AS done FROM indexed_links`);
  return row?.done === 1;
}

/** The links that one entry of a look-up asks for. */
export function findLinksOf(
  db: Database,
  shortUrl: ShortUrl,
  accountId: string,
  entry: LookupEntry,
  most: number,
): Link[] {
  const codes = 'code' in entry ? [entry.code] : codesOf(db, accountId, entry, most);
  return codes
    .map((code) => db.read(findLink(shortUrl, code, accountId)))
    .filter((link) => link !== undefined);
}

function codesOf(
  db: Database,
  account_id: string,
  { target_url, domain_id, after = '' }: LookupTarget,
  most: number,
): string[] {
  const number = targetNumber({ account_id, domain_id, target_url });
  const madeAt = after === '' ? 0 : timeOfId(after);
  const rows = db.all<{ code: string }>(sql`
    SELECT code FROM link_targets JOIN links ON links.rowid = link
    WHERE number = ${number} AND made_at >= ${madeAt} AND id > ${after} AND account_id = ${account_id}
      AND domain_id IS ${domain_id} AND target_url = ${target_url}
    ORDER BY made_at, id LIMIT ${most}`);
  return rows.map(({ code }) => code);
}

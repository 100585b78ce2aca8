import type { Link, RedirectType } from '@shortlink/sdk/wire';
import { type LinkChangeRow, toLinkChanges } from '../../link-changes.ts';
import type { LinkChanges, Redirect } from '../../store.ts';
import type { Database } from '../database.ts';

export function findRedirect(db: Database, code: string): Redirect | undefined {
  const row = db.get<{
    target_url: string;
    redirect_type: RedirectType;
    is_active: number;
    hostname: string | null;
  }>(
    `SELECT target_url, redirect_type, hostname,
       is_active AND disabled_at IS NULL AND removed_at IS NULL AS is_active
     FROM links JOIN accounts ON accounts.id = links.account_id LEFT JOIN domains ON domains.id = domain_id
     WHERE code = ?`,
    code,
  );
  if (row === undefined) return undefined;
  const { target_url, redirect_type, is_active, hostname } = row;
  return { target_url, redirect_type, is_active: is_active === 1, hostname };
}

export function linkChanges(db: Database, since: number): LinkChanges {
  const rows = db.all<LinkChangeRow>(
    'SELECT number, code FROM link_changes WHERE number >= ? ORDER BY number',
    since,
  );
  return toLinkChanges(since, rows);
}

export function findLink(
  db: Database,
  shortUrl: (code: string, hostname: string | null) => string,
  code: string,
): Link | undefined {
  const row = db.get<{
    id: string;
    hostname: string | null;
    target_url: string;
    title: string;
    redirect_type: number;
    is_active: number;
    click_count: number;
    tags: string;
    created_at: number;
  }>(
    `SELECT links.id, hostname, target_url, title, redirect_type, is_active, tags, links.created_at,
       click_count + coalesce((SELECT clicks FROM link_clicks WHERE link_clicks.code = links.code), 0) AS click_count
     FROM links LEFT JOIN domains ON domains.id = domain_id WHERE code = ?`,
    code,
  );
  if (row === undefined) return undefined;
  return {
    id: row.id,
    code,
    short_url: shortUrl(code, row.hostname),
    target_url: row.target_url,
    title: row.title,
    redirect_type: row.redirect_type,
    is_active: row.is_active === 1,
    click_count: row.click_count,
    tags: JSON.parse(row.tags),
    created_at: new Date(row.created_at).toISOString(),
  };
}

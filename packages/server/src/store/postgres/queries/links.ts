import type { Link, RedirectType } from '@shortlink/sdk/wire';
import { type LinkChangeRow, toLinkChanges } from '../../link-changes.ts';
import type { LinkChanges, Redirect } from '../../store.ts';
import type { Session } from '../session.ts';

export function findRedirect(session: Session, code: string): Promise<Redirect | undefined> {
  return session.get<{
    target_url: string;
    redirect_type: RedirectType;
    is_active: boolean;
    hostname: string | null;
  }>(
    `SELECT target_url, redirect_type, hostname,
       is_active AND disabled_at IS NULL AND removed_at IS NULL AS is_active
     FROM links JOIN accounts ON accounts.id = links.account_id LEFT JOIN domains ON domains.id = domain_id
     WHERE code = $1`,
    code,
  );
}

export async function linkChanges(session: Session, since: number): Promise<LinkChanges> {
  const rows = await session.all<LinkChangeRow>(
    'SELECT number, code FROM link_changes WHERE number >= $1 ORDER BY number',
    since,
  );
  return toLinkChanges(since, rows);
}

export async function findLink(
  session: Session,
  shortUrl: (code: string, hostname: string | null) => string,
  code: string,
): Promise<Link | undefined> {
  const row = await session.get<{
    id: string;
    hostname: string | null;
    target_url: string;
    title: string | null;
    redirect_type: number;
    is_active: boolean;
    click_count: number;
    tags: string | null;
    created_at: number;
  }>(
    `SELECT links.id, hostname, target_url, title, redirect_type, is_active, tags, links.created_at,
       (SELECT coalesce(sum(clicks), 0)::bigint FROM link_clicks WHERE link_clicks.code = links.code) AS click_count
     FROM links LEFT JOIN domains ON domains.id = domain_id WHERE code = $1`,
    code,
  );
  if (row === undefined) return undefined;
  return {
    id: row.id,
    code,
    short_url: shortUrl(code, row.hostname),
    target_url: row.target_url,
    title: row.title === null ? '' : JSON.parse(row.title),
    redirect_type: row.redirect_type,
    is_active: row.is_active,
    click_count: row.click_count,
    tags: row.tags === null ? [] : JSON.parse(row.tags),
    created_at: new Date(row.created_at).toISOString(),
  };
}

import type { Link, RedirectType } from '@shortlink/sdk/wire';
import { type LinkChangeRow, toLinkChanges } from '../link-changes.ts';
import type { LinkChanges, Redirect } from '../store.ts';
import { type Reading, rowOf, rowsOf } from './reading.ts';

export function* findRedirect(code: string): Reading<Redirect | undefined> {
  const row = yield* rowOf<{
    target_url: string;
    redirect_type: RedirectType;
    is_active: boolean | number;
    hostname: string | null;
    disabled_at: number | null;
    removed_at: number | null;
  }>(
    `SELECT target_url, redirect_type, is_active, hostname, disabled_at, removed_at
     FROM links JOIN accounts ON accounts.id = links.account_id LEFT JOIN domains ON domains.id = domain_id
     WHERE code = ?`,
    code,
  );
  if (row === undefined) return undefined;
  const { target_url, redirect_type, hostname, disabled_at, removed_at } = row;
  const is_active = Boolean(row.is_active) && disabled_at === null && removed_at === null;
  return { target_url, redirect_type, is_active, hostname };
}

export function* linkChanges(since: number): Reading<LinkChanges> {
  const rows = yield* rowsOf<LinkChangeRow>(
    'SELECT number, code FROM link_changes WHERE number >= ? ORDER BY number',
    since,
  );
  return toLinkChanges(since, rows);
}

export function* findLink(
  shortUrl: (code: string, hostname: string | null) => string,
  code: string,
): Reading<Link | undefined> {
  const row = yield* rowOf<{
    id: string;
    hostname: string | null;
    target_url: string;
    title: string | null;
    redirect_type: number;
    is_active: boolean | number;
    click_count: number;
    tags: string | null;
    created_at: number;
  }>(
    `SELECT link_details.id, hostname, target_url, title, redirect_type, is_active, click_count, tags, link_details.created_at
     FROM link_details LEFT JOIN domains ON domains.id = domain_id WHERE code = ?`,
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
    is_active: Boolean(row.is_active),
    click_count: row.click_count,
    tags: row.tags === null ? [] : JSON.parse(row.tags),
    created_at: new Date(row.created_at).toISOString(),
  };
}

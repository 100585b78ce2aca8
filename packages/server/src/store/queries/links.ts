import type { Link, TopLink } from '@shortlink/sdk/wire';
import type { ReadEngine, Reads } from '../engine.ts';
import { ownName, type ShortUrl } from '../links.ts';
import { IDEMPOTENCY_RETENTION_MS } from '../retention.ts';
import { type Reading, rowOf, rowsOf, type Statement, sql, sqlText } from './reading.ts';

export const linkReads = {
  *findCreated(_, accountId, { key, fingerprint }, now) {
    const row = yield* rowOf<{ answer: string }>(sql`
      SELECT answer FROM idempotency_records WHERE account_id = ${accountId} AND key = ${key}
        AND fingerprint = ${fingerprint} AND created_at > ${now - IDEMPOTENCY_RETENTION_MS}`);
    return row === undefined ? undefined : JSON.parse(row.answer);
  },

  /**
   * What changed since the change `since`, from the rows of triggers; one with neither code nor owner stands for all links. If the first row is not that
   * change, rows are missing: old ones were deleted, or the database is another one, such as a restored backup.
   */
  *linkChanges(_, since) {
    const [known, ...changes] = yield* rowsOf<{ number: number; id: string | null }>(sql`
      SELECT number, coalesce(code, owner) AS id FROM link_changes WHERE number >= ${since} ORDER BY number`);
    const latest = changes.at(-1)?.number ?? known?.number ?? 0;
    const ids = changes.map(({ id }) => id).filter((id) => id !== null);
    const isWhole =
      known?.number === since && ids.length === changes.length && ids.length < MISSED_CHANGES;
    return { latest, changed: isWhole ? ids : 'all' };
  },

  *findLink({ shortUrl }, code) {
    const row = yield* rowOf<LinkRow>(sql`${SELECT_LINK} WHERE code = ${code}`);
    return row && toLink(shortUrl, row);
  },

  /** Links of an account, newest first: ids of links sort by their time. */
  *listLinks({ shortUrl }, { accountId, query = '', limit, cursor = '' }) {
    const rows = yield* rowsOf<LinkRow>(sql`
      ${SELECT_LINK} WHERE code IN (
        SELECT code FROM link_details WHERE account_id = ${accountId} AND (${cursor} = '' OR CAST(id AS text) < ${cursor})
          ${query === '' ? sql`` : sql`AND (${contains(query)})`}
        ORDER BY id DESC LIMIT ${limit})
      ORDER BY link_details.id DESC`);
    return rows.map((row) => toLink(shortUrl, row));
  },
} satisfies Reads;

/** From so many missed changes on, all links count as changed. PostgreSQL keeps the rows of some more. */
const MISSED_CHANGES = 1_000;

type AsShown = Pick<Link, 'code' | 'id' | 'target_url' | 'redirect_type' | 'click_count'>;

export interface LinkRow extends AsShown {
  account_id: string;
  domain_id: string | null;
  hostname: string | null;
  title: string | null;
  is_active: boolean | number;
  tags: string | null;
  created_at: number;
  disabled_at: number | null;
  removed_at: number | null;
}

export const SELECT_LINK = sqlText(`
  SELECT code, link_details.id, link_details.account_id, domain_id, hostname, target_url, title, redirect_type, is_active, click_count, tags, link_details.created_at,
    disabled_at, removed_at
  FROM link_details JOIN accounts ON accounts.id = link_details.account_id LEFT JOIN domains ON domains.id = domain_id`);

function contains(query: string): Statement {
  const pattern = patternOf(query);
  // Titles are read as JSON strings.
  const titlePattern = patternOf(JSON.stringify(query).slice(1, -1));
  return sql`lower(target_url) LIKE lower(${pattern}) ESCAPE '\\' OR lower(title) LIKE lower(${titlePattern}) ESCAPE '\\'
    OR lower(code) LIKE lower(${pattern}) ESCAPE '\\'`;
}

function patternOf(text: string): string {
  return `%${text.replace(/[\\%_]/g, '\\$&')}%`;
}

/** The link as a person sees it: its account and domain switch it off as well. */
export function toLink(shortUrl: ShortUrl, row: LinkRow): Link {
  return {
    id: row.id,
    code: row.code,
    short_url: shortUrl(row.code, row.hostname && ownName(row.hostname)),
    target_url: row.target_url,
    title: row.title === null ? '' : JSON.parse(row.title),
    redirect_type: row.redirect_type,
    is_active: Boolean(row.is_active) && row.disabled_at === null && row.removed_at === null,
    click_count: row.click_count,
    tags: row.tags === null ? [] : JSON.parse(row.tags),
    created_at: new Date(row.created_at).toISOString(),
  };
}

/** Most clicked links of an account that are shown. */
const TOP_LINKS = 10;

export function* mostClicked({ shortUrl }: ReadEngine, accountId: string): Reading<TopLink[]> {
  const rows = yield* rowsOf<LinkRow>(sql`
    ${SELECT_LINK} WHERE code IN (SELECT code FROM top_links WHERE top_links.account_id = ${accountId})
    ORDER BY click_count DESC, code LIMIT ${TOP_LINKS}`);
  return rows.map((row) => {
    const { code, short_url, target_url, title, click_count } = toLink(shortUrl, row);
    return { code, short_url, target_url, title, click_count };
  });
}

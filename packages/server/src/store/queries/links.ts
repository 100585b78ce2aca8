import type { Link, TopLink } from '@shortlink/sdk/wire';
import type { ReadEngine, Reads } from '../engine.ts';
import { ownName, type ShortUrl } from '../links.ts';
import type { Correction, DomainUse, ExportedLink } from '../operator-store.ts';
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

  /** An alias has a slash, with the host of its custom domain in front (see `aliasAddress`). */
  *findRedirect(_, address) {
    const slash = address.indexOf('/');
    const isAlias = slash >= 0;
    const row = yield* rowOf<RedirectRow>(
      isAlias ? aliasAt(address.slice(0, slash), address.slice(slash)) : linkAt(address),
    );
    if (row === undefined) return undefined;
    const { code, target_url, redirect_type, hostname } = row;
    const is_active = Boolean(row.is_active) && row.disabled_at === null && row.removed_at === null;
    const ids = [row.account_id, row.domain_id, row.alias_domain, isAlias ? code : null];
    const owners = ids.filter((id) => id !== null).filter((id) => id !== '');
    return { target_url, redirect_type, is_active, hostname, owners, ...(isAlias && { code }) };
  },

  *domainUse(_, hostname) {
    const use = yield* rowOf<DomainUse>(sql`
      SELECT (SELECT count(*) FROM links WHERE domain_id = domains.id) AS links,
        (SELECT count(*) FROM aliases WHERE domain_id = domains.id) AS addresses
      FROM domains WHERE hostname = ${hostname}`);
    return use ?? { links: 0, addresses: 0 };
  },

  *linkHistory({ shortUrl }, code) {
    const aliases = yield* rowsOf<AliasRow>(sql`
      SELECT hostname, path FROM aliases LEFT JOIN domains ON domains.id = domain_id
      WHERE code = ${code}`);
    const corrections = yield* rowsOf<CorrectionRow>(sql`
      SELECT at, made_by AS by, old_target, new_target, old_title, new_title FROM corrections
      WHERE code = ${code} ORDER BY number`);
    return {
      aliases: aliases.map((alias) => aliasUrl(shortUrl, alias)).toSorted(),
      corrections: corrections.map(({ at, old_title, new_title, ...others }) => ({
        at: new Date(at).toISOString(),
        ...others,
        ...(old_title !== new_title && { old_title, new_title }),
      })),
    };
  },
} satisfies Reads;

/** From so many missed changes on, all links count as changed. PostgreSQL keeps the rows of some more. */
const MISSED_CHANGES = 1_000;

type AsShown = Pick<Link, 'code' | 'id' | 'target_url' | 'redirect_type' | 'click_count'>;

export interface LinkRow extends AsShown {
  account_id: string;
  domain_id: string | null;
  hostname: string | null;
  title: string;
  is_active: boolean | number;
  tags: string;
  created_at: number;
  disabled_at: number | null;
  removed_at: number | null;
}

export const SELECT_LINK = sqlText(`
  SELECT code, link_details.id, link_details.account_id, domain_id, hostname, target_url, title, redirect_type, is_active, click_count, tags, link_details.created_at,
    disabled_at, removed_at
  FROM link_details JOIN accounts ON accounts.id = link_details.account_id LEFT JOIN domains ON domains.id = domain_id`);

function contains(query: string): Statement {
  const pattern = `%${query.replace(/[\\%_]/g, '\\$&')}%`;
  return sql`lower(target_url) LIKE lower(${pattern}) ESCAPE '\\' OR lower(title) LIKE lower(${pattern}) ESCAPE '\\'
    OR lower(code) LIKE lower(${pattern}) ESCAPE '\\'`;
}

/** The link as a person sees it: its account and domain switch it off as well. */
export function toLink(shortUrl: ShortUrl, row: LinkRow): Link {
  return {
    id: row.id,
    code: row.code,
    short_url: shortUrl(row.code, row.hostname && ownName(row.hostname)),
    target_url: row.target_url,
    title: row.title,
    redirect_type: row.redirect_type,
    is_active: Boolean(row.is_active) && row.disabled_at === null && row.removed_at === null,
    click_count: row.click_count,
    tags: JSON.parse(row.tags),
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

type RedirectRow = Omit<LinkRow, 'id' | 'title' | 'click_count' | 'tags' | 'created_at'> & {
  alias_domain: string | null;
};

const REDIRECT = sqlText(`links.code, target_url, redirect_type, is_active, disabled_at,
  links.account_id, links.domain_id`);
const OWNERS = sqlText(`JOIN accounts ON accounts.id = links.account_id
  LEFT JOIN domains ON domains.id = links.domain_id`);

const linkAt = (code: string) => sql`
  SELECT ${REDIRECT}, hostname, removed_at, NULL AS alias_domain FROM links ${OWNERS} WHERE code = ${code}`;

/** The host is that of the alias, whose domain can be removed as well as the one of the link. */
const aliasAt = (hostname: string, path: string) => sql`
  SELECT ${REDIRECT}, own.hostname, coalesce(domains.removed_at, own.removed_at) AS removed_at, aliases.domain_id AS alias_domain
  FROM aliases JOIN links ON links.code = aliases.code ${OWNERS} LEFT JOIN domains AS own ON own.id = aliases.domain_id
  WHERE aliases.domain_id = ${hostname === '' ? sql`''` : sql`(SELECT id FROM domains WHERE hostname = ${hostname})`} AND path = ${path}`;

type CorrectionRow = Record<Exclude<keyof Correction, 'at'>, string> & { at: number };

type AliasRow = Pick<LinkRow, 'hostname'> & { path: string };

function aliasUrl(shortUrl: ShortUrl, { hostname, path }: AliasRow): string {
  return shortUrl(path.slice(1), hostname && ownName(hostname));
}

const EXPORTED_TOGETHER = 1_000;

/** The next links after this code, in the order of codes, which is the same on both engines. There are none after the last link. */
export function* exportPage(
  { shortUrl, table }: ReadEngine,
  accountId: string | undefined,
  after: string,
): Reading<ExportedLink[]> {
  const ofAccount =
    accountId === undefined ? sql`` : sql`AND link_details.account_id = ${accountId}`;
  const rows = yield* rowsOf<LinkRow>(sql`
    ${SELECT_LINK} WHERE code > ${after} ${ofAccount} ORDER BY code LIMIT ${EXPORTED_TOGETHER}`);
  const codes = rows.map(({ code }) => ({ code }));
  // Between the links of an account may be those of a million others. The CROSS JOIN lets SQLite look each code up.
  const aliases = yield* rowsOf<AliasRow & { code: string }>(sql`
    SELECT aliases.code, hostname, path FROM ${table(['code'], codes)} CROSS JOIN aliases LEFT JOIN domains ON domains.id = domain_id
    WHERE aliases.code = listed.code`);
  const byCode = Map.groupBy(aliases, ({ code }) => code);
  return rows.map((row) => ({
    ...toLink(shortUrl, { ...row, disabled_at: null, removed_at: null }),
    account_id: row.account_id,
    domain: row.hostname === null ? '' : ownName(row.hostname),
    aliases: (byCode.get(row.code) ?? []).map((alias) => aliasUrl(shortUrl, alias)).toSorted(),
  }));
}

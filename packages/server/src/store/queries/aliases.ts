import type { ReadEngine, Reads } from '../engine.ts';
import { ownName, type ShortUrl } from '../links.ts';
import type { Correction, ExportedLink } from '../operator-store.ts';
import type { Redirect } from '../store.ts';
import { type LinkRow, SELECT_LINK, toLink } from './links.ts';
import { type Reading, rowOf, rowsOf, sql, sqlText } from './reading.ts';

type RedirectRow = Omit<LinkRow, 'id' | 'title' | 'click_count' | 'tags' | 'created_at'>;

const REDIRECT =
  sqlText(`links.code, target_url, redirect_type, is_active, hostname, disabled_at, removed_at,
  links.account_id, links.domain_id`);
const OWNERS = sqlText(`JOIN accounts ON accounts.id = links.account_id
  LEFT JOIN domains ON domains.id = links.domain_id`);

export const aliasReads = {
  /** An alias has a slash, with the host of its custom domain in front (see `aliasAddress`). */
  *findRedirect(_, address) {
    const slash = address.indexOf('/');
    if (slash >= 0) return yield* findAlias(address.slice(0, slash), address.slice(slash));
    const row = yield* rowOf<RedirectRow>(sql`
      SELECT ${REDIRECT} FROM links ${OWNERS} WHERE code = ${address}`);
    return row && toRedirect(row, row.hostname, [row.domain_id]);
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
        ...(old_title !== new_title && {
          old_title: JSON.parse(old_title),
          new_title: JSON.parse(new_title),
        }),
      })),
    };
  },
} satisfies Reads;

function* findAlias(hostname: string, path: string): Reading<Redirect | undefined> {
  const domain =
    hostname === '' ? sql`''` : sql`(SELECT id FROM domains WHERE hostname = ${hostname})`;
  const row = yield* rowOf<
    RedirectRow & { alias_domain: string; alias_removed_at: number | null }
  >(sql`
    SELECT ${REDIRECT}, aliases.domain_id AS alias_domain,
      (SELECT removed_at FROM domains WHERE id = aliases.domain_id) AS alias_removed_at
    FROM aliases JOIN links ON links.code = aliases.code ${OWNERS}
    WHERE aliases.domain_id = ${domain} AND path = ${path}`);
  if (row === undefined) return undefined;
  const removed_at = row.removed_at ?? row.alias_removed_at;
  const owners = [row.domain_id, row.alias_domain, row.code];
  const redirect = toRedirect({ ...row, removed_at }, hostname || null, owners);
  return { ...redirect, code: row.code };
}

function toRedirect(
  row: RedirectRow,
  hostname: string | null,
  others: readonly (string | null)[],
): Redirect {
  const { target_url, redirect_type, disabled_at, removed_at, account_id } = row;
  const is_active = Boolean(row.is_active) && disabled_at === null && removed_at === null;
  const owners = [account_id, ...others.filter((id) => id !== null).filter((id) => id !== '')];
  return { target_url, redirect_type, is_active, hostname, owners };
}

type CorrectionRow = Record<Exclude<keyof Correction, 'at'>, string> & { at: number };

interface AliasRow {
  hostname: string | null;
  path: string;
}

function aliasUrl(shortUrl: ShortUrl, { hostname, path }: AliasRow): string {
  return shortUrl(path.slice(1), hostname && ownName(hostname));
}

const EXPORTED_TOGETHER = 1_000;

/** The links behind a code, in the order of their codes, which is the same on both engines; none after the last one. */
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

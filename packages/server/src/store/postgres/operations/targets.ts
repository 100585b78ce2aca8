import type { Link } from '@shortlink/sdk/wire';
import type { LookupEntry } from '../../../domain/validate-lookup.ts';
import { NO_ID, type ShortUrl, type Targeted, targetNumber } from '../../links.ts';
import { type LinkRow, SELECT_LINK, toLink } from '../../queries/links.ts';
import { sql } from '../../queries/reading.ts';
import type { Session } from '../session.ts';

/** Links of one step, so that no step holds many locks for long. */
const STEP_LINKS = 1_000;

/** Numbers the targets of some links that have none; `true` when there are more. Links that another instance numbers are passed over. */
export async function indexLinks(session: Session): Promise<boolean> {
  const links = await session.all<Targeted & { code: string }>(sql`
    SELECT code, account_id, domain_id, target_url FROM links
    WHERE target_number IS NULL ORDER BY code LIMIT ${STEP_LINKS} FOR UPDATE SKIP LOCKED`);
  const codes = links.map(({ code }) => code);
  const numbers = links.map(targetNumber);
  await session.run(sql`
    UPDATE links SET target_number = number FROM unnest(${codes}::text[], ${numbers}::bigint[]) AS new (code, number)
    WHERE links.code = new.code`);
  return links.length === STEP_LINKS;
}

/** Whether the target of every link has its number. */
export async function isIndexed(session: Session): Promise<boolean> {
  const rows = await session.all(
    sql`SELECT FROM links WHERE target_number IS NULL ORDER BY code LIMIT 1`,
  );
  return rows.length === 0;
}

export async function findLinks(
  session: Pick<Session, 'all'>,
  shortUrl: ShortUrl,
  account_id: string,
  entries: readonly LookupEntry[],
  most: number,
): Promise<Link[][]> {
  const codes = entries.map((entry) => ('code' in entry ? [entry.code] : []));
  const targets = entries.flatMap((entry, place) => ('code' in entry ? [] : [{ ...entry, place }]));
  const column = <T>(pick: (target: (typeof targets)[number]) => T): T[] => targets.map(pick);
  const places = column(({ place }) => place);
  const numbers = column((target) => targetNumber({ ...target, account_id }));
  const urls = column(({ target_url }) => target_url);
  const domains = column(({ domain_id }) => domain_id);
  const afters = column(({ after = NO_ID }) => after);
  const found = await session.all<{ place: number; code: string }>(sql`
    SELECT place, code
    FROM unnest(${places}::int[], ${numbers}::bigint[], ${urls}::text[], ${domains}::text[], ${afters}::uuid[])
      AS asked (place, number, target, domain, after), LATERAL (
        SELECT code, id FROM links WHERE target_number = number AND id > after
          AND account_id = ${account_id} AND domain_id IS NOT DISTINCT FROM domain AND target_url = target
        ORDER BY id LIMIT ${most}) AS links
    ORDER BY place, id`);
  for (const { place, code } of found) codes[place]?.push(code);
  const rows = await session.all<LinkRow>(sql`
    ${SELECT_LINK} WHERE code = ANY(${codes.flat()}::text[]) AND link_details.account_id = ${account_id}`);
  const links = new Map(rows.map((row) => [row.code, toLink(shortUrl, row)]));
  return codes.map((of) => of.map((code) => links.get(code)).filter((link) => link !== undefined));
}

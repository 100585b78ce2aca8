import type { Link } from '@shortlink/sdk/wire';
import type { LookupEntry } from '../../../domain/validate-link.ts';
import type { ReadEngine } from '../../engine.ts';
import { NO_ID, targetNumber } from '../../links.ts';
import { type LinkRow, SELECT_LINK, toLink } from '../../queries/links.ts';
import { type Reading, rowsOf, sql } from '../../queries/reading.ts';
import { arrayOf, listOf } from '../statement.ts';

const ASKED = {
  place: 'int',
  number: 'bigint',
  target_url: 'text',
  domain_id: 'text',
  after: 'uuid',
};

export function* findLinks(
  { shortUrl }: ReadEngine,
  account_id: string,
  entries: readonly LookupEntry[],
  most: number,
): Reading<Link[][]> {
  const codes = entries.map((entry) => ('code' in entry ? [entry.code] : []));
  const asked = entries.flatMap((entry, place) => {
    if ('code' in entry) return [];
    const number = entry.number ?? targetNumber({ ...entry, account_id });
    return [{ ...entry, after: entry.after ?? NO_ID, place, number }];
  });
  const found = yield* rowsOf<{ place: number; code: string }>(sql`
    SELECT place, code
    FROM ${listOf(ASKED, asked)}, LATERAL (
        SELECT code, id FROM links WHERE target_number = number AND id > after
          AND account_id = ${account_id} AND domain_id IS NOT DISTINCT FROM listed.domain_id AND target_url = listed.target_url
        ORDER BY id LIMIT ${most}) AS links
    ORDER BY place, id`);
  for (const { place, code } of found) codes[place]?.push(code);
  const rows = yield* rowsOf<LinkRow>(sql`
    ${SELECT_LINK} WHERE code = ANY(${arrayOf(codes.flat())}::text[])
      AND link_details.account_id = ${account_id}`);
  const links = new Map(rows.map((row) => [row.code, toLink(shortUrl, row)]));
  return codes.map((of) => of.map((code) => links.get(code)).filter((link) => link !== undefined));
}

import type { Link } from '@shortlink/sdk/wire';
import { MAX_CODE_DRAWS, newUuid } from '../../../domain/ids.ts';
import { createdLink, type ShortUrl, targetNumber } from '../../links.ts';
import { hostnameOf } from '../../queries/accounts.ts';
import { rankLinks } from '../../queries/links.ts';
import { sql } from '../../queries/reading.ts';
import type { NewLink } from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import type { Session } from '../session.ts';

/** What links are made with. */
export interface LinkMaker {
  generateCode: () => string;
  shortUrl: ShortUrl;
  /** Hostname of a custom domain; `null` for the default one. */
  hostnameOf: (session: Session, domainId: string | null) => Promise<string | null>;
}

/** A link and what is not in it. */
interface Row {
  id: string;
  input: NewLink;
  hostname: string | null;
}

/**
 * Inserts links of one account, in order, each under a new code. The caller has taken their quota slots. The
 * unique index says whether a code is free; asking first would race with other instances. No code keeps an alias from its link. Links whose code was taken get
 * another one in the next statement.
 */
export async function insertLinks(
  maker: LinkMaker,
  session: Session,
  accountId: string,
  inputs: readonly NewLink[],
  now: number,
): Promise<Link[]> {
  const rows: Row[] = [];
  for (const input of inputs) {
    const hostname = await maker.hostnameOf(session, input.domain_id);
    rows.push({ id: newUuid(), input, hostname });
  }
  const codes = new Map<Row, string>();
  let open = rows;
  for (let draw = 0; open.length > 0; draw += 1) {
    if (draw === MAX_CODE_DRAWS) {
      throw new StoreError('internal', `No free code was found in ${MAX_CODE_DRAWS} draws.`);
    }
    const drawn = drawCodes(maker.generateCode, open);
    const inserted = await insert(session, accountId, drawn, now);
    for (const [code, row] of drawn) if (inserted.has(code)) codes.set(row, code);
    open = open.filter((row) => !codes.has(row));
  }
  return rows.map((row) => {
    const code = codes.get(row) ?? '';
    const shortUrl = maker.shortUrl(code, row.hostname);
    return createdLink(row.input, { id: row.id, code, shortUrl, now });
  });
}

/** A code for each row. Rows that drew the same one are left out, but for one: they draw again. */
function drawCodes(generateCode: () => string, rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [generateCode(), row]));
}

/** Inserts what is free and returns those codes. */
async function insert(
  session: Session,
  accountId: string,
  drawn: ReadonlyMap<string, Row>,
  now: number,
): Promise<Set<string>> {
  const rows = [...drawn.values()];
  const column = <T>(pick: (input: NewLink) => T): T[] => rows.map(({ input }) => pick(input));
  const codes = [...drawn.keys()];
  const ids = rows.map(({ id }) => id);
  const domainIds = column(({ domain_id }) => domain_id);
  const targets = column(({ target_url }) => target_url);
  const numbers = column((input) => targetNumber({ account_id: accountId, ...input }));
  const titles = column(({ title }) => (title === '' ? null : JSON.stringify(title)));
  const types = column(({ redirect_type }) => redirect_type);
  const tags = column(({ tags }) => (tags.length === 0 ? null : JSON.stringify(tags)));
  const inserted = await session.all<{ code: string }>(sql`
    INSERT INTO links (code, id, account_id, domain_id, target_url, target_number, title, redirect_type, tags, created_at)
    SELECT code, id, ${accountId}, domain_id, target_url, target_number, title, redirect_type, tags, ${now}
    FROM unnest(${codes}::text[], ${ids}::uuid[], ${domainIds}::text[], ${targets}::text[], ${numbers}::bigint[], ${titles}::text[],
      ${types}::smallint[], ${tags}::text[]) AS new (code, id, domain_id, target_url, target_number, title, redirect_type, tags)
    WHERE NOT EXISTS (SELECT FROM aliases WHERE aliases.domain_id = coalesce(new.domain_id, '') AND path = '/' || new.code)
    ON CONFLICT (code) DO NOTHING RETURNING code`);
  return new Set(inserted.map((row) => row.code));
}

/** Looks hostnames of custom domains up, each once: the links of a domain keep its hostname, and it is never deleted. */
export function hostnameLookup(): LinkMaker['hostnameOf'] {
  const known = new Map<string, string>();
  return async (session, domainId) => {
    if (domainId === null) return null;
    const hostname = known.get(domainId) ?? (await session.read(hostnameOf(domainId)));
    known.set(domainId, hostname);
    return hostname;
  };
}

/**
 * Rows over which the clicks of a hot link are spread, so that instances which write at the same time seldom meet. Reading a
 * link adds them up.
 */
export const CLICK_SLOTS = 16;

/** Clicks of one write that make a link hot. Others are counted in slot 0, so that they have one row, not one per instance. */
const HOT_CLICKS = 10;

/**
 * Adds clicks in one statement. Codes are in order, so that two instances lock rows in the same order; unknown ones are left out.
 *
 * @param slot - The instance's own, from 0 to {@link CLICK_SLOTS}, exclusive.
 */
export async function addClicks(
  session: Session,
  clicks: ReadonlyMap<string, number>,
  slot: number,
): Promise<void> {
  const codes = [...clicks.keys()].toSorted();
  const counts = codes.map((code) => clicks.get(code) ?? 0);
  await session.run(sql`
    INSERT INTO link_clicks AS counted (code, slot, clicks)
      SELECT code, CASE WHEN added >= ${HOT_CLICKS} THEN ${slot}::smallint ELSE 0 END, added
      FROM unnest(${codes}::text[], ${counts}::bigint[]) WITH ORDINALITY AS new (code, added, place)
      WHERE EXISTS (SELECT FROM links WHERE links.code = new.code)
      ORDER BY place
    ON CONFLICT (code, slot) DO UPDATE SET clicks = counted.clicks + excluded.clicks`);
  await session.write(rankLinks(clicks.keys(), sql`pg_try_advisory_xact_lock(${RANK_LOCK})`));
}

/** Only one instance ranks at a time, so that two instances can't deadlock. Any number that isn't used elsewhere in this database. */
const RANK_LOCK = 7_305_812_449;

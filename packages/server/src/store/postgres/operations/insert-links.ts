import type { BatchResultItem, Link } from '@shortlink/sdk/wire';
import { MAX_CODE_DRAWS, newUuid } from '../../../domain/ids.ts';
import type { NewLink } from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import type { Session } from '../session.ts';

/** What links are made with. */
export interface LinkMaker {
  generateCode: () => string;
  shortUrl: (code: string, hostname: string | null) => string;
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
 * Inserts links of one account, in order, each under a new code. Their places in the plan are taken by the caller. The
 * unique index says whether a code is free; asking first would race with other instances. Links whose code was taken get
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
  return rows.map((row) => toLink(maker, row, codes.get(row) ?? '', now));
}

/** What the response to a batch says of each link. */
export function toResultItem({ target_url, code, short_url }: Link): BatchResultItem {
  return { target_url, code, short_url };
}

/** A code for each row. Rows that drew the same one are left out, but for one: they draw again. */
function drawCodes(generateCode: () => string, rows: readonly Row[]): Map<string, Row> {
  return new Map(rows.map((row) => [generateCode(), row]));
}

/** Inserts what is free and answers those codes. */
async function insert(
  session: Session,
  accountId: string,
  drawn: ReadonlyMap<string, Row>,
  now: number,
): Promise<Set<string>> {
  const rows = [...drawn.values()];
  const column = <T>(pick: (input: NewLink) => T): T[] => rows.map(({ input }) => pick(input));
  const inserted = await session.all<{ code: string }>(
    `INSERT INTO links (code, id, account_id, domain_id, target_url, title, redirect_type, tags, created_at)
     SELECT code, id, $1, domain_id, target_url, title, redirect_type, tags, $2
     FROM unnest($3::text[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::smallint[], $9::text[])
       AS new (code, id, domain_id, target_url, title, redirect_type, tags)
     ON CONFLICT (code) DO NOTHING RETURNING code`,
    accountId,
    now,
    [...drawn.keys()],
    rows.map(({ id }) => id),
    column((input) => input.domain_id),
    column((input) => input.target_url),
    column((input) => (input.title === '' ? null : JSON.stringify(input.title))),
    column((input) => input.redirect_type),
    column((input) => (input.tags.length === 0 ? null : JSON.stringify(input.tags))),
  );
  return new Set(inserted.map((row) => row.code));
}

function toLink({ shortUrl }: LinkMaker, row: Row, code: string, now: number): Link {
  const { target_url, title, redirect_type, tags } = row.input;
  return {
    id: row.id,
    code,
    short_url: shortUrl(code, row.hostname),
    target_url,
    title,
    redirect_type,
    is_active: true,
    click_count: 0,
    tags: [...tags],
    created_at: new Date(now).toISOString(),
  };
}

import type { BatchResultItem, Link } from '@shortlink/sdk/wire';
import { MAX_CODE_DRAWS, newUuid } from '../../../domain/ids.ts';
import { createdLink, recordWrite, targetNumber } from '../../links.ts';
import { hostnameOf } from '../../queries/accounts.ts';
import { rankLinks } from '../../queries/links.ts';
import { rowOf, sql, sqlText } from '../../queries/reading.ts';
import type { NewLink } from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import type { Database } from '../database.ts';
import type { Operation, OperationContext } from './operations.ts';
import { bucketOf } from './targets.ts';

/** Inserts links of one account, in order, each under a new code. The caller has counted them in the plan's total. */
export function insertLinks(
  context: OperationContext,
  accountId: string,
  links: readonly NewLink[],
  now: number,
): BatchResultItem[] {
  const insert = linkInserter(context, accountId, now);
  return links.map((link) => {
    const { code, shortUrl } = insert(link);
    return { target_url: link.target_url, code, short_url: shortUrl };
  });
}

/** Inserts one link, see {@link insertLinks}. */
export function insertLink(
  context: OperationContext,
  accountId: string,
  link: NewLink,
  now: number,
): Link {
  const inserted = linkInserter(context, accountId, now)(link);
  return createdLink(link, { ...inserted, now });
}

/** A link that was just inserted by another process makes no difference: every bucket up to the newest is looked into. */
const BUCKET_OF_NEW_LINK = bucketOf('ifnull((SELECT max(rowid) FROM links), 0)');

/** The value of `target_number` of a new link. */
export const numberColumn = (number: number) => sql`${number} + ${BUCKET_OF_NEW_LINK}`;

/** The unique index says whether a code is free; asking first would race with other processes. No code keeps an alias from its link. */
function linkInserter(
  { db, generateCode, shortUrl }: OperationContext,
  accountId: string,
  now: number,
): (link: NewLink) => { id: string; code: string; shortUrl: string } {
  const hostnameOf = hostnameLookup(db);
  const toJson = jsonOfTags();
  return ({ target_url, title, redirect_type, domain_id, tags }) => {
    const hostname = hostnameOf(domain_id);
    const id = newUuid();
    const number = targetNumber({ account_id: accountId, domain_id, target_url });
    for (let draw = 0; draw < MAX_CODE_DRAWS; draw += 1) {
      const code = generateCode();
      const inserted = db.run(sql`
        INSERT INTO links (code, id, account_id, domain_id, target_url, title, redirect_type, tags, created_at, target_number)
        SELECT ${code}, ${id}, ${accountId}, ${domain_id}, ${target_url}, ${title}, ${redirect_type}, ${toJson(tags)}, ${now},
          ${number} + ${BUCKET_OF_NEW_LINK}
        WHERE NOT EXISTS (SELECT 1 FROM aliases WHERE domain_id = ${domain_id ?? ''} AND path = ${`/${code}`})
        ON CONFLICT (code) DO NOTHING`);
      if (inserted === 1) return { id, code, shortUrl: shortUrl(code, hostname) };
    }
    throw new StoreError('internal', `No free code was found in ${MAX_CODE_DRAWS} draws.`);
  };
}

/** Links of a batch often have the same tags, and comparing them takes a fraction of the time of writing them as JSON. */
function jsonOfTags(): (tags: readonly string[]) => string {
  let last: readonly string[] = [];
  let json = '[]';
  return (tags) => {
    if (tags.length !== last.length || tags.some((tag, index) => tag !== last[index])) {
      last = tags;
      json = JSON.stringify(tags);
    }
    return json;
  };
}

/** A batch usually has one domain, so each is read once per operation. */
function hostnameLookup(db: Database): (domainId: string | null) => string | null {
  const known = new Map<string, string>();
  return (domainId) => {
    if (domainId === null) return null;
    const hostname = known.get(domainId) ?? db.read(hostnameOf(domainId));
    known.set(domainId, hostname);
    return hostname;
  };
}

/** Nearly always the link was clicked before, so its row is looked for first. */
export const addClicks: Operation<'addClicks'> = ({ db }, clicks, write) => {
  if (write !== undefined && db.read(rowOf(recordWrite(write))) === undefined) return;
  for (const [code, count] of clicks) {
    const added = db.run(
      sql`UPDATE link_clicks SET clicks = clicks + ${count} WHERE code = ${code}`,
    );
    if (added > 0) continue;
    db.run(
      sql`INSERT INTO link_clicks (code, clicks) SELECT code, ${count} FROM links WHERE code = ${code}`,
    );
  }
  db.read(rankLinks(clicks.keys(), sqlText('true')));
};

import type { BatchResultItem, Link } from '@shortlink/sdk/wire';
import { MAX_CODE_DRAWS, newUuid } from '../../../domain/ids.ts';
import type { NewLink } from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import type { Database } from '../database.ts';
import type { OperationContext } from './operations.ts';

/** Inserts links of one account, in order, each under a new code. Their places in the plan are taken by the caller. */
export function insertLinks(
  context: OperationContext,
  accountId: string,
  links: readonly NewLink[],
  now: number,
): Link[] {
  const hostnameOf = hostnameLookup(context.db);
  return links.map((link) => insertLink(context, accountId, link, now, hostnameOf));
}

/** Inserts one link, see {@link insertLinks}. */
export function insertLink(
  { db, generateCode, shortUrl }: OperationContext,
  accountId: string,
  link: NewLink,
  now: number,
  hostnameOf = hostnameLookup(db),
): Link {
  const { target_url, title, redirect_type, domain_id } = link;
  const id = newUuid();
  const tags = JSON.stringify(link.tags);
  const hostname = hostnameOf(domain_id);
  const code = insertUnderNewCode(generateCode, (candidate) =>
    db.run(
      `INSERT INTO links (code, id, account_id, domain_id, target_url, title, redirect_type, tags, created_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (code) DO NOTHING`,
      candidate,
      id,
      accountId,
      domain_id,
      target_url,
      title,
      redirect_type,
      tags,
      now,
    ),
  );
  return {
    id,
    code,
    short_url: shortUrl(code, hostname),
    target_url,
    title,
    redirect_type,
    is_active: true,
    click_count: 0,
    tags: [...link.tags],
    created_at: new Date(now).toISOString(),
  };
}

/** The item of a batch's results that stands for this link. */
export function toResultItem({ target_url, code, short_url }: Link): BatchResultItem {
  return { target_url, code, short_url };
}

/** The unique index says whether a code is free; asking first would race with other processes. */
function insertUnderNewCode(generateCode: () => string, insert: (code: string) => number): string {
  for (let draw = 0; draw < MAX_CODE_DRAWS; draw += 1) {
    const code = generateCode();
    if (insert(code) === 1) return code;
  }
  throw new StoreError('internal', `No free code was found in ${MAX_CODE_DRAWS} draws.`);
}

/** A batch usually has one domain, so each is read once per operation. */
function hostnameLookup(db: Database): (domainId: string | null) => string | null {
  const known = new Map<string, string>();
  return (domainId) => {
    if (domainId === null) return null;
    let hostname = known.get(domainId);
    if (hostname === undefined) {
      const row = db.get<{ hostname: string }>(
        'SELECT hostname FROM domains WHERE id = ?',
        domainId,
      );
      if (row === undefined) throw new StoreError('internal', `There is no domain ${domainId}.`);
      hostname = row.hostname;
      known.set(domainId, hostname);
    }
    return hostname;
  };
}

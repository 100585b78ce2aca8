import type { BatchResultItem, Link } from '@shortlink/sdk/wire';
import { MAX_CODE_DRAWS, newUuid } from '../../domain/ids.ts';
import type { Engine, StoredLink } from '../engine.ts';
import { ownName } from '../links.ts';
import { rowOf, sql, type Writing } from '../queries/reading.ts';
import type { NewLink } from '../store.ts';
import { StoreError } from '../store-error.ts';

type Inserted = StoredLink & { hostname: string | null; short_url: string };

/** Inserts links of one account, in order, for which slots were taken, each under a new code. */
export function* insertLinks(
  engine: Engine,
  account_id: string,
  inputs: readonly NewLink[],
  created_at: number,
): Writing<Inserted[]> {
  const made = { account_id, is_active: true, created_at, code: '', short_url: '' };
  const links: Inserted[] = [];
  for (const input of inputs) {
    const hostname = input.domain_id && (yield* hostnameOf(engine, input.domain_id));
    links.push({ ...input, ...made, hostname, id: newUuid() });
  }
  yield* insertUnderNewCodes(engine, links, engine.generateCode);
  for (const link of links) link.short_url = engine.shortUrl(link.code, link.hostname);
  return links;
}

/**
 * Gives each link a new code that is none of `taken`, and inserts it. The unique index says whether a code is free: asking first would race with
 * other instances. Those whose code was taken, also by an alias, get another one in the next statement.
 */
export function* insertUnderNewCodes(
  engine: Engine,
  links: readonly StoredLink[],
  generateCode: () => string,
  taken?: ReadonlySet<string>,
): Writing<void> {
  let open = links;
  for (let draw = 0; open.length > 0; draw += 1) {
    if (draw === MAX_CODE_DRAWS) {
      throw new StoreError('internal', `No free code was found in ${MAX_CODE_DRAWS} draws.`);
    }
    const drawn = new Map<string, StoredLink>();
    for (const link of open) {
      link.code = generateCode();
      // Of those that draw the same code, the first one has it.
      if (!drawn.has(link.code) && !taken?.has(link.code)) drawn.set(link.code, link);
    }
    const inserted = yield* engine.insertRows([...drawn.values()]);
    open = open.filter((link) => drawn.get(link.code) !== link || !inserted.has(link.code));
  }
}

function* hostnameOf({ hostnames }: Engine, domainId: string): Writing<string> {
  const known = hostnames.get(domainId);
  if (known !== undefined) return known;
  const row = yield* rowOf<{ hostname: string }>(sql`
    SELECT hostname FROM domains WHERE id = ${domainId}`);
  if (row === undefined) throw new StoreError('internal', `There is no domain ${domainId}.`);
  const hostname = ownName(row.hostname);
  hostnames.set(domainId, hostname);
  return hostname;
}

export function createdLink(link: Inserted): Link {
  const { id, code, short_url, target_url, title, redirect_type, is_active, tags } = link;
  const created_at = new Date(link.created_at).toISOString();
  const shown = { id, code, short_url, target_url, title, redirect_type, is_active };
  return { ...shown, click_count: 0, tags: [...tags], created_at };
}

export function toResultItem({ target_url, code, short_url }: Inserted): BatchResultItem {
  return { target_url, code, short_url };
}

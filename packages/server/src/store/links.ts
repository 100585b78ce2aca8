import { hash } from 'node:crypto';
import type { Link } from '@shortlink/sdk/wire';
import { chunksOf } from '../domain/chunks.ts';
import type { Engine } from './engine.ts';
import type { LinkCorrection } from './operator-store.ts';
import { type Reading, rowsOf, type Statement, sql, type Writing } from './queries/reading.ts';
import type { ClickWrite, JobInput, NewLink } from './store.ts';

export type ShortUrl = (code: string, hostname: string | null) => string;

/** Makes short URLs: on the public URL, or on a link's custom domain with the public URL's scheme. */
export function shortUrlMaker(publicUrl: string): ShortUrl {
  const base = publicUrl.replace(/\/+$/, '');
  const { protocol } = new URL(base);
  return (code, hostname) =>
    hostname === null ? `${base}/${code}` : `${protocol}//${hostname}/${code}`;
}

/** The name that the links of a domain were made on: once another account has the domain, the removed one is kept as `host/id`. */
export function ownName(hostname: string): string {
  return hostname.replace(/\/.*/, '');
}

/** Links that one step of a job creates: enough that a commit weighs little, few enough that requests wait some milliseconds only. */
export const JOB_CHUNK_LINKS = 500;

/** The input of a job that creates these links: texts are cheap to post to a thread, to store and to keep. */
export function toJobInput(links: readonly NewLink[]): JobInput {
  const chunks = chunksOf(links, JOB_CHUNK_LINKS).map((some) => JSON.stringify(some));
  return { total: links.length, chunks };
}

type Targeted = Pick<NewLink, 'domain_id' | 'target_url'> & { account_id: string };

/** A 32-bit number for a target, the same on every engine. Several targets may have one. The account is in it: nobody's links slow down others. */
export function targetNumber({ account_id, domain_id, target_url }: Targeted): number {
  const digest = hash('sha1', `${account_id}\n${domain_id ?? ''}\n${target_url}`);
  return Number.parseInt(digest.slice(0, 8), 16);
}

/** Links that are numbered in one step: other writes wait for some milliseconds, and no step holds many locks for long. */
const STEP_LINKS = 1_000;

/** Numbers the targets of some links that have none, see `Store.indexLinks`. */
export function* indexLinks(engine: Engine): Writing<{ done: boolean }> {
  yield* numberTargets(engine);
  return { done: yield* isIndexed() };
}

/** The same; `true` when there may be more that can be numbered now. Links that another transaction has locked are passed over. */
export function* numberTargets(engine: Engine): Writing<boolean> {
  const links = yield* rowsOf<Targeted & { code: string }>(sql`
    SELECT code, account_id, domain_id, target_url FROM links
    WHERE target_number IS NULL ORDER BY target_number LIMIT ${STEP_LINKS} ${engine.unlessLocked}`);
  const numbers = links.map((link) => ({ code: link.code, number: targetNumber(link) }));
  yield* rowsOf(sql`
    UPDATE links SET target_number = CAST(number AS bigint) + ${engine.bucket}
    FROM ${engine.table(['code', 'number'], numbers)} WHERE links.code = listed.code`);
  return links.length === STEP_LINKS;
}

/** The order lets PostgreSQL use the index of links without a number, which it would take for most of them. */
export function* isIndexed(): Reading<boolean> {
  const left = yield* rowsOf(sql`
    SELECT 1 AS unnumbered FROM links WHERE target_number IS NULL ORDER BY target_number LIMIT 1`);
  return left.length === 0;
}

export const NO_ID = '00000000-0000-0000-0000-000000000000';

/** Records a write in the transaction that carries it out. It returns no row when that was done before, and waits for one that is still open. */
export function recordWrite({ writer, number, now }: ClickWrite): Statement {
  return sql`
    INSERT INTO click_writes (writer, number, written_at) VALUES (${writer}, ${number}, ${now})
    ON CONFLICT (writer) DO UPDATE SET number = excluded.number, written_at = excluded.written_at
      WHERE click_writes.number < excluded.number
    RETURNING number`;
}

/** A link after a correction, and whether that is another one. */
export function changedLink(link: Link, change: Pick<LinkCorrection, 'target_url' | 'title'>) {
  const { target_url = link.target_url, title = link.title } = change;
  const changed = target_url !== link.target_url || title !== link.title;
  return { value: { ...link, target_url, title }, changed };
}

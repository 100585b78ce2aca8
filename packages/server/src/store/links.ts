import { hash } from 'node:crypto';
import type { Link } from '@shortlink/sdk/wire';
import { chunksOf } from '../domain/chunks.ts';
import type { LinkCorrection } from './operator-store.ts';
import { type Statement, sql } from './queries/reading.ts';
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
export const ownName = (hostname: string) => hostname.replace(/\/.*/, '');

/** Links that one step of a job creates: enough that a commit weighs little, few enough that requests wait some milliseconds only. */
export const JOB_CHUNK_LINKS = 500;

/** The input of a job that creates these links. Threads pass it on, and bytes leave no garbage behind on the one that redirects. */
export function toJobInput(links: readonly NewLink[]): JobInput {
  const encoder = new TextEncoder();
  const chunks = chunksOf(links, JOB_CHUNK_LINKS).map((some) =>
    encoder.encode(JSON.stringify(some)),
  );
  return { total: links.length, chunks };
}

/** The memory of the links of a job, which is moved to another thread and not copied. */
export const buffersOf = ({ chunks = [] }: Partial<JobInput>) => chunks.map(({ buffer }) => buffer);

type Targeted = Pick<NewLink, 'domain_id' | 'target_url'> & { account_id: string };

/** A 32-bit number for a target, the same on every engine. Several targets may have one. The account is in it: nobody's links slow down others. */
export function targetNumber({ account_id, domain_id, target_url }: Targeted): number {
  const digest = hash('sha1', `${account_id}\n${domain_id ?? ''}\n${target_url}`);
  return Number.parseInt(digest.slice(0, 8), 16);
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

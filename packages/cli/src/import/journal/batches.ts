import { hashOf, type LinkIdentity, linkIdentity, madeFor } from '../map/link-identity.ts';
import { type LinkResult, NO_RESPONSE } from '../types.ts';
import type { LogRecord, NewRecord } from './log.ts';

/** Numbers of links in a journal: so many, from this one on. */
export interface LinkRange {
  firstLink: number;
  size: number;
}

/** A request that may have created links, or links that were found. */
export interface Batch extends LinkRange {
  /** Id of the record that began it. */
  id: number;
  /** Address of the service. */
  service: string;
  /** RFC 3339. */
  sentAt: string;
  idempotencyKey: string | undefined;
  /** The job, which a poll may still find. */
  job: string | undefined;
  /** Why it is not known what became of its links. */
  error: string | undefined;
  /** Default domain of the request. */
  domain: string | undefined;
  /** Whether its links are stored as they were sent, and whether they may be sent again under the key. */
  hasBody: boolean;
  mayRepeat: boolean;
  isOpen: boolean;
  /** Links that exist, and once it is no longer open: links that may exist. */
  created: number;
  unanswered: number;
  /** Ids of the records that say what became of its links. */
  decided: number[];
}

/** A request before it is sent. */
export interface NewBatch extends Pick<Batch, 'sentAt' | 'idempotencyKey' | 'domain'> {
  links: readonly LinkIdentity[];
  /** JSON of the links as they are sent, where they may be sent again. */
  body: string | undefined;
}

/** What became of the links of a batch. */
export interface Decision {
  results: readonly LinkResult[];
  /** Numbers of the links, in the order of the results. @default all links of the batch */
  ids?: readonly number[] | undefined;
  /** Whether links without a result will never get one: the request is forgotten. */
  isFinal: boolean;
  /** The job that may still be polled, and why it is not known what the other links are. */
  job?: string | undefined;
  error?: string | undefined;
}

/** A link of a journal. One without a short URL may exist, unless it was refused or is known not to exist. */
export interface JournalLink extends LinkIdentity {
  number: number;
  code: string;
  short_url: string | null;
  error: string | null;
  isFailed: boolean;
  isGone: boolean;
}

/** What a record says of one link: nothing, that it doesn't exist, why it may exist, why it was refused, or code and short URL. */
export type Entry = null | 0 | [error: string] | [error: string, failed: 1] | [string, string];

export function entryOf(result: LinkResult, isFinal: boolean): Entry {
  if (result.status === 'created') return [result.code, result.short_url];
  if (result.status === 'failed') return [result.error, 1];
  return isFinal ? [result.error] : null;
}

/** Links as they are stored: target and domain, and the hash of the rest, or as they were sent. */
export function linksText({ links, body }: NewBatch): string {
  return body ?? JSON.stringify(links.map(({ pair, content }) => [pair, content]));
}

/** The links of a batch before anything was decided. */
export function readLinks({ firstLink, domain, hasBody }: Batch, data: unknown): JournalLink[] {
  const stored = data as never[];
  return stored.map((link, index) => {
    const [pair, content] = hasBody ? ['', 0] : (link as [string, number]);
    const { key, ...identity } = hasBody
      ? linkIdentity(link, domain)
      : { pair, content, key: hashOf(pair) };
    const number = firstLink + index;
    const undecided = { code: '', short_url: null, error: null, isFailed: false, isGone: false };
    return { number, key, ...identity, ...undecided };
  });
}

export function applyEntries(links: readonly JournalLink[], entries: readonly Entry[]): void {
  links.forEach((link, index) => {
    applyEntry(link, entries[index] ?? null);
  });
}

/** A link that is known to exist stays, whatever is said later. */
function applyEntry(link: JournalLink, entry: Entry): void {
  if (entry === null) return;
  if (entry !== 0 && typeof entry[1] === 'string') {
    Object.assign(link, { code: entry[0], short_url: entry[1], error: null, isFailed: false });
    return;
  }
  if (link.short_url !== null) return;
  if (entry === 0) link.isGone = true;
  else {
    link.error = entry[0];
    link.isFailed = entry.length === 2;
  }
}

/** Whether a link may exist, and nothing says which one it is. */
export function isOpenLink({ short_url, isFailed, isGone }: JournalLink): boolean {
  return short_url === null && !isFailed && !isGone;
}

/** Whether a link exists, or may. */
export function isLink({ isFailed, isGone }: JournalLink): boolean {
  return !isFailed && !isGone;
}

/** The batch that a record begins. */
export function beginBatch({ id, info }: LogRecord, firstLink: number): Batch {
  const begun = info as Pick<Batch, 'service' | 'sentAt' | 'domain' | 'size' | 'hasBody'> & {
    idempotencyKey?: string;
  };
  const open = { job: undefined, error: undefined, isOpen: true, created: 0, unanswered: 0 };
  const { idempotencyKey, domain, hasBody } = begun;
  const mayRepeat = hasBody;
  return { ...begun, idempotencyKey, domain, mayRepeat, ...open, id, firstLink, decided: [] };
}

/** What a later record changes of its batch. */
export function changeBatch(batch: Batch, { id, kind, info }: LogRecord): void {
  if (kind === 'accepted') batch.job = String(info['job']);
  if (kind === 'accepted' || kind === 'expired') batch.mayRepeat = false;
  if (kind === 'release') Object.assign(batch, { isOpen: false, unanswered: 0 });
  if (kind === 'results') Object.assign(batch, { job: undefined, error: undefined }, info);
  if (kind === 'release' || kind === 'results') batch.decided.push(id);
}

/** Whether a batch has links, or may have. */
export function isAlive({ isOpen, created, unanswered }: Batch): boolean {
  return isOpen || created + unanswered > 0;
}

/** The record that says what became of a batch. */
export function resultsRecord(
  batch: number,
  entries: readonly Entry[],
  counts: Pick<Batch, 'created' | 'unanswered'>,
  { isFinal, job, error }: Omit<Decision, 'results'>,
): NewRecord {
  const open = isFinal ? { isOpen: false } : { isOpen: true, job, error };
  return { kind: 'results', batch, info: { ...counts, ...open }, data: JSON.stringify(entries) };
}

/** How many links of a batch exist, and may exist, by the one record that says so. */
export function countEntries(
  entries: readonly Entry[],
  size: number,
): Pick<Batch, 'created' | 'unanswered'> {
  let created = 0;
  let failed = 0;
  for (const entry of entries) {
    if (entry === 0) failed += 1;
    else if (entry?.length === 2) {
      if (typeof entry[1] === 'string') created += 1;
      else failed += 1;
    }
  }
  return { created, unanswered: size - created - failed };
}

/** What the results say of a link, with the cell `made_for`. */
export function resultOf(link: JournalLink): LinkResult & { made_for: string } {
  const { code, short_url, error, isFailed } = link;
  const made_for = madeFor(link);
  if (short_url !== null) return { status: 'created', code, short_url, made_for };
  return { status: isFailed ? 'failed' : 'unknown', error: error ?? NO_RESPONSE, made_for };
}

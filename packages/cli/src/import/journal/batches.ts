import type { CreateLinkBody } from '@shortlink/sdk';
import { serviceUrl } from '../../config/settings.ts';
import {
  hashOf,
  type LinkIdentity,
  linkIdentity,
  madeNumber,
  writeMadeFor,
} from '../map/link-identity.ts';
import { type LinkResult, type MadeResult, NO_RESPONSE } from '../types.ts';
import type { LogRecord, NewRecord } from './log.ts';

/** A request that may have created links, or links that were found elsewhere. */
export interface Batch {
  /** Id of the record that began it. */
  id: number;
  /** Its links have so many numbers in the journal, from this one on. */
  firstLink: number;
  size: number;
  service: string;
  /** RFC 3339, and how long the machine had run then. */
  sentAt: string;
  uptimeMs?: number | undefined;
  /** The same for the last request, where the first one was refused, or another run has sent it again. */
  again?: SentAt | undefined;
  idempotencyKey: string | undefined;
  /** A poll may still find it. */
  job: string | undefined;
  /** A job that the key of a run did not find: another key may find it. */
  lostJob?: string | undefined;
  /** Why the outcome of its links is not known. */
  error: string | undefined;
  /** Default domain of the request. */
  domain: string | undefined;
  mayRepeat: boolean;
  isOpen: boolean;
  /** Links that exist, and that may exist. The others were refused, or are known not to exist. */
  created: number;
  unanswered: number;
  /** Ids of the records with the outcome of its links. */
  decided: number[];
  /** The file that may say that its links may exist: the one that was written last, or another one before it. */
  doubtedBy?: 'last file' | 'earlier file' | undefined;
}

export type SentAt = Pick<Batch, 'sentAt' | 'uptimeMs'>;

/** A link as it is stored: target and domain with the hash of the rest, or as it was sent where it may be sent again. */
type StoredLink = readonly [pair: string, content: number] | CreateLinkBody;

/** With a key, the links are those of the request. */
export interface NewBatch extends SentAt, Pick<Batch, 'idempotencyKey' | 'domain'> {
  links: readonly StoredLink[];
}

/** All names of this machine are one service here. An API key is sent to none but the name that it is for. */
export function serviceOf(baseUrl: string): string {
  const url = new URL(serviceUrl(baseUrl));
  const isHere = /^(?:127(?:\.\d+){3}|\[::1\]|\[::ffff:7f.*\])$/.test(url.hostname);
  if (isHere) url.hostname = 'localhost';
  return serviceUrl(url.href);
}

export interface Decision {
  results: readonly LinkResult[];
  /** The numbers of the links, in the order of the results. @default all links of the batch */
  ids?: readonly number[] | undefined;
  /** Whether links without a result will never get one. */
  isFinal: boolean;
  /** The job that may still be polled, and why the other links are not known. */
  job?: string | undefined;
  lostJob?: string | undefined;
  error?: string | undefined;
}

/** A link that a batch asks for. Without a result, it is known not to exist. */
export interface JournalLink extends LinkIdentity {
  number: number;
  result: LinkResult | undefined;
}

export function urlOf(result: LinkResult | undefined): string | undefined {
  return result?.status === 'created' ? result.short_url : undefined;
}

export const urlsOf = (links: IteratorObject<JournalLink>): string[] =>
  [...links.map(({ result }) => urlOf(result))].filter((url) => url !== undefined);

/** The first ones of a list, and the last. */
export const endsOf = <T>(list: readonly T[], most: number): T[] =>
  list.filter((_, at) => at < most || at >= list.length - most);

/** What a record says of a link: nothing, that it doesn't exist, why it may exist, why it was refused, or that it was created. */
export type Entry = null | 0 | [error: string] | [error: string, failed: 1] | Created;
type Created<Made = number | null> = [code: string, short_url: string, made?: Made];

export function entryOf(result: LinkResult, isFinal: boolean, made: number | null): Entry {
  if (result.status === 'created') return [result.code, result.short_url, made];
  if (result.status === 'failed') return [result.error, 1];
  return isFinal ? [result.error] : null;
}

/** Characters of a reason, where a full disk has no room for more. */
const SHORT_REASON = 40;

export function withShortReason(entry: Entry): Entry {
  if (entry === null || entry === 0 || isCreated(entry)) return entry;
  const [reason, ...failed] = entry;
  return [reason.slice(0, SHORT_REASON), ...failed];
}

function isCreated(entry: Entry | undefined): entry is Created {
  return typeof entry === 'object' && typeof entry?.[1] === 'string';
}

function isUnanswered(entry: Entry): boolean {
  return entry === null || (entry !== 0 && entry.length === 1);
}

/**
 * Adds what a record says. A link that is known to exist stays until it is said to be none, or that of another row: results of a job that still
 * runs do not say of which row they are, where several ask for one target.
 */
export function addEntries(known: Entry[], entries: readonly Entry[]): void {
  if (known.some(isCreated)) {
    const places = new Map(entries.map((entry, index) => [isCreated(entry) && entry[1], index]));
    known.forEach((entry, index) => {
      if (isCreated(entry) && (places.get(entry[1]) ?? index) !== index) known[index] = null;
    });
  }
  entries.forEach((entry, index) => {
    const isSure = entry === 0 || isCreated(entry ?? undefined);
    if (entry !== null && (isSure || !isCreated(known[index]))) known[index] = entry;
  });
}

/** Gives the links of a batch one by one, since there may be 10,000. */
export function* linksOfBatch(batch: Batch, stored: unknown, known: readonly Entry[]) {
  for (const [index, link] of (stored as StoredLink[]).entries()) {
    const { pair, key, content } = identityOf(link, batch.domain);
    const result = resultOf(known[index] ?? null, batch);
    const number = batch.firstLink + index;
    yield { number, pair, key, content, result } satisfies JournalLink;
  }
}

function identityOf(link: StoredLink, domain: string | undefined): LinkIdentity {
  if ('target_url' in link) return linkIdentity(link, domain);
  const [pair, content] = link;
  return { pair, key: hashOf(pair), content };
}

function resultOf(entry: Entry, { isOpen, unanswered, job, error }: Batch): LinkResult | undefined {
  if (isCreated(entry)) return { status: 'created', code: entry[0], short_url: entry[1] };
  const [why, failed] = entry || [];
  if (failed !== undefined) return { status: 'failed', error: why ?? '' };
  if (entry === 0 || (!isOpen && unanswered === 0)) return undefined;
  const ofJob = job && `accepted as job ${job}, whose end was not seen`;
  return { status: 'unknown', error: why ?? error ?? ofJob ?? NO_RESPONSE };
}

export function isOpenLink({ result }: JournalLink): boolean {
  return result?.status === 'unknown';
}

export function isLink({ result }: JournalLink): boolean {
  return result !== undefined && result.status !== 'failed';
}

export function beginBatch({ id, info }: LogRecord, firstLink: number): Batch {
  const begun = info as Pick<Batch, 'service' | 'sentAt' | 'size'> & Partial<Batch>;
  const { idempotencyKey, domain, size } = begun;
  return {
    ...begun,
    service: serviceOf(begun.service),
    ...{ id, firstLink, idempotencyKey, domain, mayRepeat: idempotencyKey !== undefined },
    ...{ job: undefined, error: undefined, isOpen: true, created: 0, unanswered: size },
    decided: [],
  };
}

export function changeBatch(batch: Batch, { id, kind, info }: LogRecord): void {
  if (kind === 'again') Object.assign(batch, { again: info });
  if (kind === 'accepted') batch.job = String(info['job']);
  if (kind === 'accepted' || kind === 'expired') batch.mayRepeat = false;
  if (kind === 'release')
    Object.assign(batch, { isOpen: false, unanswered: 0, doubtedBy: undefined });
  if (kind === 'results')
    Object.assign(batch, { job: undefined, lostJob: undefined, error: undefined }, info);
  if (kind === 'release' || kind === 'results') batch.decided.push(id);
}

export function isAlive({ created, unanswered }: Batch): boolean {
  return created + unanswered > 0;
}

/** What became of the links of a batch. They are read only where not all records say what theirs was made with. */
export function outcomesOf(
  entries: readonly Entry[],
  links: () => IteratorObject<JournalLink>,
): IteratorObject<MadeResult> {
  return entries.every(isWhole) ? entries.values().map(outcomeIn) : links().map(outcomeOf);
}

function isWhole(entry: Entry): entry is Required<Created<number>> {
  return isCreated(entry) && typeof entry[2] === 'number';
}

function outcomeIn([code, short_url, made]: Required<Created<number>>): MadeResult {
  return { status: 'created', code, short_url, made_for: writeMadeFor(made) };
}

function outcomeOf(link: JournalLink): MadeResult {
  const { result = { status: 'unknown', error: NO_RESPONSE } } = link;
  return { ...result, made_for: writeMadeFor(madeNumber(link)) };
}

/** What links are made with, as they are stored. */
export function madeWith({ links, domain }: NewBatch): number[] {
  return links.map((link) => madeNumber(identityOf(link, domain)));
}

export function undecided(size: number): Entry[] {
  return Array(size).fill(null);
}

/** The record of the outcome of a batch, of whose links so much was `known` before. */
export function resultsRecord(
  batch: number,
  known: Entry[],
  entries: readonly Entry[],
  { isFinal, job, lostJob, error }: Omit<Decision, 'results'>,
): NewRecord {
  addEntries(known, entries);
  const open = isFinal ? { isOpen: false } : { isOpen: true, job, lostJob, error };
  const created = known.filter(isCreated).length;
  const info = { created, unanswered: known.filter(isUnanswered).length, ...open };
  return { kind: 'results', batch, info, data: JSON.stringify(entries) };
}

export function* chunks<T>(items: Iterable<T>, size: number): Generator<T[]> {
  let chunk: T[] = [];
  for (const item of items) {
    if (chunk.push(item) < size) continue;
    yield chunk;
    chunk = [];
  }
  if (chunk.length > 0) yield chunk;
}

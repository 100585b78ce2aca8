import type { DatabaseSync } from 'node:sqlite';
import type { CreateLinkBody } from '@shortlink/sdk';
import { serviceUrl } from '../../config/settings.ts';
import { type LinkIdentity, linkOfPair } from '../map/link-identity.ts';
import type { ClaimOfLink } from '../map/result-columns.ts';
import { type LinkResult, NO_RESPONSE } from '../types.ts';
import {
  applyEntries,
  type Batch,
  beginBatch,
  changeBatch,
  countEntries,
  type Decision,
  type Entry,
  entryOf,
  isAlive,
  isLink,
  isOpenLink,
  type JournalLink,
  type LinkRange,
  linksText,
  type NewBatch,
  readLinks,
  resultOf,
  resultsRecord,
} from './batches.ts';
import { readableError, removeJournal } from './database.ts';
import { Log, type LogRecord, type NewRecord } from './log.ts';

/** How many files that were written are remembered. */
const MAX_WRITTEN = 16;

/** Links of a batch that was never sent: they were found elsewhere. */
const FOUND_LINKS = 10_000;

type BatchRef = Pick<Batch, 'id'>;

/**
 * The journal of an import: which links exist, and which requests may have created some. Everything is on disk when a method returns.
 */
export class Journal {
  readonly path: string;
  /** The database of the file, for temporary tables. */
  readonly db: DatabaseSync;
  /** The service of this run: links of other services are kept and ignored. */
  readonly service: string;
  /** Links that this run has created have numbers from this one on. */
  firstNewLink = 1;
  /** The input, as seen from the folder of the journal. */
  owner: string | undefined;
  /** SHA-256 of files that imports have written: a file with another content was changed since. */
  written: string[] = [];
  readonly #dispose: () => void;
  readonly #log: Log;
  readonly #batches = new Map<number, Batch>();
  #nextLink = 1;

  /**
   * @param db - closed where its content is not that of a journal
   * @param dispose - closes `db`, and removes what was made for it
   * @throws CliError (exit code 2) where a part of it is missing
   */
  constructor(path: string, db: DatabaseSync, baseUrl: string, dispose: () => void) {
    this.path = path;
    this.db = db;
    this.service = serviceUrl(baseUrl);
    this.#dispose = dispose;
    try {
      this.#log = new Log(db, path);
      for (const record of this.#log.read()) this.#apply(record);
      this.beginCreating();
    } catch (error) {
      db.close();
      throw readableError(path, error);
    }
  }

  /** From here on, links that are added are new ones. */
  beginCreating(): void {
    this.firstNewLink = this.#nextLink;
  }

  /** Records a request before it is sent; or links that need none, with what became of them. */
  begin(batch: NewBatch, decision?: Decision): BatchRef & LinkRange {
    const { links, sentAt, idempotencyKey, domain, body } = batch;
    const begun = { service: this.service, size: links.length, hasBody: body !== undefined };
    const info = { ...begun, sentAt, idempotencyKey, domain };
    const records: NewRecord[] = [{ kind: 'batch', info, data: linksText(batch) }];
    const [id, firstLink] = [this.#log.next, this.#nextLink];
    if (decision !== undefined) {
      const entries = decision.results.map((result) => entryOf(result, decision.isFinal));
      records.push(resultsRecord(id, entries, countEntries(entries, links.length), decision));
    }
    this.#add(records);
    return { id, firstLink, size: links.length };
  }

  /** The request became a job. It is not sent again: to its key the service would respond with the same job. */
  accepted(id: number, job: string): void {
    this.#add([{ kind: 'accepted', batch: id, info: { job } }]);
  }

  /** Records which links of a batch exist and which were refused. Of the others, what is known stays. */
  decide({ id }: BatchRef, decision: Decision): void {
    const batch = this.#batch(id);
    const { results, ids, isFinal } = decision;
    const entries: Entry[] = ids === undefined ? [] : Array(batch.size).fill(null);
    results.forEach((result, index) => {
      const at = ids === undefined ? index : (ids[index] ?? 0) - batch.firstLink;
      entries[at] = entryOf(result, isFinal);
    });
    this.#record(batch, entries, decision);
  }

  /** The service may have forgotten the key of this request, so that it is not sent again. */
  expired(id: number): void {
    this.#add([{ kind: 'expired', batch: id, info: {} }]);
  }

  /** Forgets an open batch, so that its rows are new again, but for those whose link is known. */
  release({ id }: BatchRef): void {
    this.#add([{ kind: 'release', batch: id, info: {} }]);
  }

  /** Forgets links that the response to their request left out, so that their rows are new again. */
  releaseUnanswered(): boolean {
    const lacking = this.batches().filter((batch) => !batch.isOpen && batch.unanswered > 0);
    if (lacking.length > 0)
      this.#add(lacking.map(({ id }) => ({ kind: 'release', batch: id, info: {} })));
    return lacking.length > 0;
  }

  /** Once the service was asked: links that may exist are those that were found, by their numbers, or don't exist. Jobs can still be polled. */
  settle(found: ReadonlyMap<number, readonly [code: string, short_url: string]>): void {
    for (const batch of this.batches()) {
      if (batch.isOpen ? batch.job !== undefined : batch.unanswered === 0) continue;
      const entries = this.linksIn(batch).map((link): Entry => {
        const [code, short_url] = found.get(link.number) ?? [];
        if (!isOpenLink(link)) return null;
        return code === undefined || short_url === undefined ? 0 : [code, short_url];
      });
      this.#record(batch, entries, { isFinal: true });
    }
  }

  /** Records links that were found elsewhere, or of which something else says that they may exist. */
  add(links: Iterable<LinkIdentity & LinkResult>): void {
    let some: (LinkIdentity & LinkResult)[] = [];
    const none = { sentAt: '', idempotencyKey: undefined, domain: undefined, body: undefined };
    const flush = () => {
      if (some.length > 0) this.begin({ links: some, ...none }, { results: some, isFinal: true });
      some = [];
    };
    for (const link of links) {
      some.push(link);
      if (some.length === FOUND_LINKS) flush();
    }
    flush();
  }

  /** What is known of the links of a batch, each with the cell `made_for`. */
  results({ id }: BatchRef): (LinkResult & { made_for: string })[] {
    return this.linksIn(this.#batch(id)).map(resultOf);
  }

  /** The batches of this service, oldest first. */
  batches(): Batch[] {
    return [...this.#batches.values()].filter(({ service }) => service === this.service);
  }

  /** The batches of this service that may have created links, oldest first. */
  openBatches(): Batch[] {
    return this.batches().filter(({ isOpen }) => isOpen);
  }

  /** The links of an open batch, in the order of the request, without those that it refused. */
  linksOf(batch: BatchRef): ({ id: number } & CreateLinkBody)[] {
    const links = this.linksIn(this.#batch(batch.id)).filter(isLink);
    return links.map(({ number, pair }) => ({ id: number, ...linkOfPair(pair) }));
  }

  /** The links of a batch as they were sent, where they may be sent again. */
  bodyOf({ id }: BatchRef): CreateLinkBody[] {
    return this.#log.dataOf(id) as CreateLinkBody[];
  }

  /** All links of a batch, as far as they are known by now. */
  linksIn(batch: Batch): JournalLink[] {
    const links = readLinks(batch, this.#log.dataOf(batch.id));
    for (const id of batch.decided) {
      applyEntries(links, this.#log.dataOf(id) as Entry[]);
    }
    if (!batch.isOpen && batch.unanswered === 0) {
      for (const link of links) if (isOpenLink(link)) link.isGone = true;
    }
    return links;
  }

  /** Every link of this service that is known to exist, or may exist. */
  *links(): Generator<{ identity: LinkIdentity; claim: ClaimOfLink }> {
    for (const batch of this.batches()) {
      for (const link of this.linksIn(batch)) {
        if (!isLink(link)) continue;
        const { code, short_url, error } = link;
        const own = short_url === null ? undefined : { code, short_url, made_for: '' };
        const doubt = own === undefined ? (error ?? NO_RESPONSE) : undefined;
        yield { identity: link, claim: { own, doubt } };
      }
    }
  }

  hasLinks(): boolean {
    return this.batches().some(isAlive);
  }

  /** Addresses that short URLs of this service begin with, as far as the journal knows. */
  origins(): string[] {
    const batch = this.batches().find(({ created }) => created > 0);
    const link = batch && this.linksIn(batch).find(({ short_url }) => short_url !== null);
    const url = URL.parse(link?.short_url ?? '');
    return url === null ? [] : [url.origin];
  }

  /** Addresses of the other services whose links it knows. */
  otherServices(): string[] {
    const alive = [...this.#batches.values()].filter(isAlive);
    const others = new Set(alive.map(({ service }) => service));
    others.delete(this.service);
    return [...others].sort();
  }

  /** Whether it knows no link, of any service. An empty one is removed when it is closed. */
  get isEmpty(): boolean {
    return ![...this.#batches.values()].some(isAlive);
  }

  /** Links of this service in jobs that no run has seen completed: the next one can still poll them. */
  linksInJobs(): number {
    const jobs = this.openBatches().filter(({ job }) => job !== undefined);
    return jobs.reduce((sum, { size }) => sum + size, 0);
  }

  /** Remembers a file that is about to be put in place. */
  willWrite(content: string): void {
    this.#add([{ kind: 'written', info: { content } }]);
  }

  hasWritten(content: string): boolean {
    return this.written.includes(content);
  }

  setOwner(input: string): void {
    this.#add([{ kind: 'owner', info: { input } }]);
  }

  forget(): void {
    removeJournal(this.path);
  }

  write<T>(work: () => T): T {
    return this.#log.write(work);
  }

  close(): void {
    this.#dispose();
  }

  #batch(id: number): Batch {
    const batch = this.#batches.get(id);
    if (batch === undefined) throw new Error(`The journal has no batch ${id}`);
    return batch;
  }

  #record(batch: Batch, entries: readonly Entry[], decision: Omit<Decision, 'results'>): void {
    let counts = countEntries(entries, batch.size);
    if (batch.decided.length > 0) {
      const links = this.linksIn(batch);
      applyEntries(links, entries);
      const created = links.filter(({ short_url }) => short_url !== null).length;
      counts = { created, unanswered: links.filter(isOpenLink).length };
    }
    this.#add([resultsRecord(batch.id, entries, counts, decision)]);
  }

  #add(records: readonly NewRecord[]): void {
    for (const record of this.#log.add(records)) this.#apply(record);
  }

  #apply(record: LogRecord): void {
    const { kind, batch, info } = record;
    if (kind === 'owner') this.owner = String(info['input']);
    else if (kind === 'written') {
      this.written = [...this.written, String(info['content'])].slice(-MAX_WRITTEN);
    } else if (kind === 'batch') {
      const begun = beginBatch(record, this.#nextLink);
      this.#batches.set(record.id, begun);
      this.#nextLink += begun.size;
    } else changeBatch(this.#batch(batch ?? 0), record);
  }
}

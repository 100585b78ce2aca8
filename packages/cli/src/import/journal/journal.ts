import { rmSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import type { CreateLinkBody } from '@shortlink/sdk';
import { type LinkIdentity, linkOfPair } from '../map/link-identity.ts';
import type { LinkResult, MadeResult } from '../types.ts';
import {
  addEntries,
  type Batch,
  beginBatch,
  changeBatch,
  chunks,
  type Decision,
  type Entry,
  endsOf,
  entryOf,
  isAlive,
  isLink,
  isOpenLink,
  type JournalLink,
  linksOfBatch,
  madeWith,
  type NewBatch,
  outcomesOf,
  resultsRecord,
  serviceOf,
  undecided,
  urlsOf,
  withShortReason,
} from './batches.ts';
import { readableError } from './database.ts';
import { Log, type LogRecord, type NewRecord } from './log.ts';

/** How many files that were written are remembered. */
const MAX_WRITTEN = 16;

/** Links of a batch that was never sent: they were found elsewhere. */
const FOUND_LINKS = 10_000;

type BatchRef = Pick<Batch, 'id'>;

/** The journal of an import: which links exist, and which requests may have created some. When a method returns, all is on disk. */
export class Journal {
  readonly path: string;
  readonly db: DatabaseSync;
  /** Links of other services are kept and ignored. */
  readonly service: string;
  firstNewLink = 1;
  /** The input, as seen from the folder of the journal. */
  owner: string | undefined;
  /** SHA-256 of files that imports have written: a file with another content was changed by somebody else. */
  written: string[] = [];
  readonly #dispose: () => void;
  readonly #log: Log;
  readonly #batches = new Map<number, Batch>();
  /** What the links of requests in flight are made with, by the batch. */
  readonly #made = new Map<number, readonly number[]>();
  #nextLink = 1;

  /** `dispose` closes `db` and removes what was made for it. Throws an InputError where a part of the journal is missing. */
  constructor(path: string, db: DatabaseSync, baseUrl: string, dispose: () => void) {
    this.path = path;
    this.db = db;
    this.service = serviceOf(baseUrl);
    this.#dispose = dispose;
    try {
      this.#log = new Log(db, path);
      this.#read();
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

  /** Keeps room on the disk for what becomes of so many links in flight. */
  keepRoom(links: number): void {
    this.#log.keepRoom(links);
  }

  /** Records a request before it is sent; or links that need none, with what became of them. */
  begin(batch: NewBatch, decision?: Decision): Batch {
    const { links, ...request } = batch;
    const info = { service: this.service, size: links.length, ...request };
    const id = this.#log.next;
    const records: NewRecord[] = [{ kind: 'batch', info, data: JSON.stringify(links) }];
    if (decision === undefined) this.#made.set(id, madeWith(batch));
    else {
      const entries = decision.results.map((result) => entryOf(result, decision.isFinal, null));
      records.push(resultsRecord(id, undecided(links.length), entries, decision));
    }
    this.#add(records);
    return this.batch(id);
  }

  /** A request is sent `again`, has become a job, whose request is not sent again, or has a key that the service may have forgotten. */
  note(batch: number, kind: 'again' | 'accepted' | 'expired', info: object = {}): void {
    this.#add([{ kind, batch, info }]);
  }

  /** Records which links of a batch exist and which were refused. Of the others, what is known stays. */
  decide({ id }: BatchRef, decision: Decision): void {
    const { size, firstLink } = this.batch(id);
    const { results, ids, isFinal } = decision;
    const entries = undecided(size);
    const made = this.#made.get(id);
    const isLate = firstLink < this.firstNewLink;
    const elsewhere = isLate ? this.batches().filter(({ sentAt }) => sentAt === '') : [];
    const found = new Set(elsewhere.flatMap((other) => urlsOf(this.eachLink(other))));
    results.forEach((result, index) => {
      const at = ids === undefined ? index : (ids[index] ?? 0) - firstLink;
      // What became of a request of an earlier run may have been found elsewhere before its response: that is no second link.
      const isFound = result.status === 'created' && found.has(result.short_url);
      entries[at] = isFound ? 0 : entryOf(result, isFinal, made?.[at] ?? null);
    });
    this.#record(this.batch(id), entries, decision);
  }

  /** Forgets open batches, so that their rows are new again, but for those whose link is known. */
  release(...batches: readonly BatchRef[]): void {
    this.#add(batches.map(({ id }) => ({ kind: 'release', batch: id, info: {} })));
    for (const { id } of batches) this.#made.delete(id);
  }

  /** Forgets links that the response to their request left out: their rows are new again. */
  releaseUnanswered(): boolean {
    const lacking = this.batches().filter((batch) => !batch.isOpen && batch.unanswered > 0);
    if (lacking.length > 0) this.release(...lacking);
    return lacking.length > 0;
  }

  /** Once the service was asked: links of a batch that may exist are those that were found, by their numbers, or don't exist. */
  settle(foundIn: (batch: Batch) => ReadonlyMap<number, [code: string, short_url: string]>): void {
    for (const batch of this.batches()) {
      if (!batch.isOpen && batch.unanswered === 0) continue;
      const found = foundIn(batch);
      const entries = this.eachLink(batch).map((link): Entry => {
        return isOpenLink(link) ? (found.get(link.number) ?? 0) : null;
      });
      this.#record(batch, [...entries], { isFinal: true });
    }
  }

  /** Records links that were found elsewhere, or that may exist by what a file says. Only some are in memory at once. */
  add(found: Iterable<LinkIdentity & LinkResult>): void {
    const none = { sentAt: '', idempotencyKey: undefined, domain: undefined };
    for (const results of chunks(found, FOUND_LINKS)) {
      const links = results.map(({ pair, content }) => [pair, content] as const);
      this.begin({ links, ...none }, { results, isFinal: true });
    }
  }

  /** Forgets the links of these numbers, which lead to other targets since they were created. */
  drop(numbers: ReadonlySet<number>): void {
    for (const batch of numbers.size > 0 ? this.batches() : []) {
      const { firstLink, isOpen } = batch;
      const entries = undecided(batch.size).map((_, index): Entry => {
        return numbers.has(firstLink + index) ? 0 : null;
      });
      if (entries.includes(0)) this.#record(batch, entries, { ...batch, isFinal: !isOpen });
    }
  }

  /** The batches of this service, oldest first. */
  batches(): Batch[] {
    return [...this.#batches.values()].filter(({ service }) => service === this.service);
  }

  openBatches(): Batch[] {
    return this.batches().filter(({ isOpen }) => isOpen);
  }

  /** The links of a batch that exist or may exist, in the order of the request. */
  linksOf(batch: BatchRef): ({ id: number } & CreateLinkBody)[] {
    const links = [...this.eachLink(this.batch(batch.id))].filter(isLink);
    return links.map(({ number, pair }) => ({ id: number, ...linkOfPair(pair) }));
  }

  /** The links of a batch as they were sent, where they may be sent again. */
  bodyOf({ id }: BatchRef): CreateLinkBody[] {
    return this.#log.dataOf(id) as CreateLinkBody[];
  }

  /** All links of a batch, with or without what became of them as far as it is known by now. */
  eachLink(batch: Batch, withResults = true): Generator<JournalLink> {
    return linksOfBatch(batch, this.#log.dataOf(batch.id), withResults ? this.#entries(batch) : []);
  }

  outcomesOf(batch: Batch): IteratorObject<MadeResult> {
    return outcomesOf(this.#entries(batch), () => this.eachLink(batch));
  }

  hasLinks(): boolean {
    return this.batches().some(isAlive);
  }

  /** Short URLs of this service: a few of the first batch that has some, and of the last. */
  someUrls(): string[] {
    const batches = this.batches().filter(({ created }) => created > 0);
    return endsOf(batches, 1).flatMap((batch) => endsOf(urlsOf(this.eachLink(batch)), 5));
  }

  /** Addresses that short URLs of this service begin with, as far as the journal knows. */
  origins(): string[] {
    const url = URL.parse(this.someUrls()[0] ?? '');
    return url === null ? [] : [url.origin];
  }

  /** Addresses of the other services whose links it knows. */
  otherServices(): string[] {
    const alive = [...this.#batches.values()].filter(isAlive);
    const services = new Set(alive.map(({ service }) => service));
    return [...services].filter((service) => service !== this.service).sort();
  }

  /** Whether it knows no link of any service: then it is removed when it is closed. */
  get isEmpty(): boolean {
    return ![...this.#batches.values()].some(isAlive);
  }

  /** Links of this service without an outcome, in jobs that no run has seen completed: the next one can still poll them. */
  linksInJobs(): number {
    return this.openBatches().reduce((sum, { job, unanswered }) => sum + (job ? unanswered : 0), 0);
  }

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
    rmSync(this.path, { force: true });
  }

  write<T>(work: () => T): T {
    return this.#log.write(work, () => this.#read());
  }

  close(): void {
    this.#log.releaseRoom();
    this.#dispose();
  }

  batch(id: number): Batch {
    const batch = this.#batches.get(id);
    if (batch === undefined) throw new Error(`The journal has no batch ${id}`);
    return batch;
  }

  #read(): void {
    this.#batches.clear();
    this.#nextLink = 1;
    for (const record of this.#log.read()) this.#apply(record);
  }

  #entries({ size, decided }: Batch): Entry[] {
    const known = undecided(size);
    for (const id of decided) addEntries(known, this.#log.dataOf(id) as Entry[]);
    return known;
  }

  #record(batch: Batch, entries: readonly Entry[], decision: Omit<Decision, 'results'>): void {
    const recordOf = (known: readonly Entry[]) => [
      resultsRecord(batch.id, this.#entries(batch), known, decision),
    ];
    this.#add(recordOf(entries), () => recordOf(entries.map(withShortReason)));
    this.#made.delete(batch.id);
  }

  #add(records: readonly NewRecord[], shorter?: () => readonly NewRecord[]): void {
    for (const record of this.#log.add(records, shorter)) this.#apply(record);
  }

  #apply(record: LogRecord): void {
    const { kind, batch, info } = record;
    if (kind === 'owner') this.owner = String(info['input']);
    else if (kind === 'written') {
      this.written = [...this.written, String(info['content'])].slice(-MAX_WRITTEN);
      for (const known of this.#batches.values())
        known.doubtedBy = known.unanswered > 0 ? 'last file' : known.doubtedBy && 'earlier file';
    } else if (kind === 'batch') {
      const begun = beginBatch(record, this.#nextLink);
      this.#batches.set(record.id, begun);
      this.#nextLink += begun.size;
    } else changeBatch(this.batch(batch ?? 0), record);
  }
}

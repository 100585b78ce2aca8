import type { BatchResultItem, Link, Usage } from '@shortlink/sdk/wire';
import { toJobChunks } from '../job-chunks.ts';
import type {
  DomainRemoval,
  LinkSearch,
  OperatorStore,
  RotationOutcome,
} from '../operator-store.ts';
import * as accounts from '../queries/accounts.ts';
import { findJob, pendingJobs, readJobResults } from '../queries/jobs.ts';
import { findLink, findRedirect, linkChanges } from '../queries/links.ts';
import { usage } from '../queries/usage.ts';
import type {
  AcceptedJob,
  Account,
  Admission,
  ApiKey,
  Caller,
  CreateOutcome,
  CreateRequest,
  Domain,
  JobProgress,
  LinkChanges,
  NewLink,
  Outcome,
  Redirect,
  Store,
  StoredJob,
} from '../store.ts';
import type { Database } from './database.ts';
import type { OpenedFile } from './open-file.ts';
import { findCodes } from './operators.ts';
import type { WatchedWriter } from './watched-writer.ts';

type Input<N extends keyof OperatorStore> = Parameters<OperatorStore[N]>[0];

export interface SqliteStoreParts {
  /** Connection for reads, on the thread that asks: they take microseconds. */
  reader: Database;
  writer: WatchedWriter;
  shortUrl: (code: string, hostname: string | null) => string;
  /** The file of the database; `undefined` for one in memory. */
  file?: OpenedFile | undefined;
}

/** The store on embedded SQLite: reads here, writes through the one writer. */
export class SqliteStore implements Store {
  readonly #reader: Database;
  readonly #writer: WatchedWriter;
  readonly #shortUrl: SqliteStoreParts['shortUrl'];
  readonly #file: OpenedFile | undefined;

  constructor(parts: SqliteStoreParts) {
    this.#reader = parts.reader;
    this.#writer = parts.writer;
    this.#shortUrl = parts.shortUrl;
    this.#file = parts.file;
  }

  createAccount(input: Parameters<Store['createAccount']>[0]): Promise<Account> {
    return this.#writer.submit('createAccount', input);
  }

  async listAccounts(): Promise<Account[]> {
    return this.#reader.read(accounts.listAccounts());
  }

  async findAccount(id: string): Promise<Account | undefined> {
    return this.#reader.read(accounts.findAccount(id));
  }

  updateAccount(input: Input<'updateAccount'>): Promise<Account | undefined> {
    return this.#writer.submit('updateAccount', input);
  }

  setAccountDisabled(input: Input<'setAccountDisabled'>): Promise<Account | undefined> {
    return this.#writer.submit('setAccountDisabled', input);
  }

  createKey(input: Input<'createKey'>): Promise<Outcome<ApiKey>> {
    return this.#writer.submit('createKey', input);
  }

  async listKeys(accountId: string): Promise<ApiKey[]> {
    return this.#reader.read(accounts.listKeys(accountId));
  }

  revokeKey(keyId: string, now: number): Promise<boolean> {
    return this.#writer.submit('revokeKey', keyId, now);
  }

  rotateKey(input: Input<'rotateKey'>): Promise<RotationOutcome> {
    return this.#writer.submit('rotateKey', input);
  }

  recordKeyUse(keyId: string, now: number): Promise<void> {
    return this.#writer.submit('recordKeyUse', keyId, now);
  }

  addDomain(input: Input<'addDomain'>): Promise<Domain | undefined> {
    return this.#writer.submit('addDomain', input);
  }

  async listDomains(): Promise<Domain[]> {
    return this.#reader.read(accounts.listDomains());
  }

  removeDomain(input: Input<'removeDomain'>): Promise<DomainRemoval> {
    return this.#writer.submit('removeDomain', input);
  }

  async listLinks(search: LinkSearch): Promise<Link[]> {
    const links = findCodes(this.#reader, search).map((code) =>
      this.#reader.read(findLink(this.#shortUrl, code)),
    );
    return links.filter((link) => link !== undefined);
  }

  async findKeyByHash(hash: Uint8Array): Promise<Caller | undefined> {
    return this.#reader.read(accounts.findKeyByHash(hash));
  }

  admit(caller: Caller, now: number): Promise<Admission> {
    return this.#writer.submit('admit', caller, now);
  }

  refund(caller: Caller, now: number): Promise<void> {
    return this.#writer.submit('refund', caller, now);
  }

  createLink(request: CreateRequest<NewLink>): Promise<CreateOutcome<Link>> {
    return this.#writer.submit('createLink', request);
  }

  createBatch(
    request: CreateRequest<readonly NewLink[]>,
  ): Promise<CreateOutcome<BatchResultItem[]>> {
    return this.#writer.submit('createBatch', request);
  }

  createJob(request: CreateRequest<readonly NewLink[]>): Promise<CreateOutcome<AcceptedJob>> {
    const { input } = request;
    return this.#writer.submit('createJob', {
      ...request,
      input: { total: input.length, chunks: toJobChunks(input) },
    });
  }

  async ownedDomains(accountId: string, ids: readonly string[]): Promise<Set<string>> {
    return this.#reader.read(accounts.ownedDomains(accountId, ids));
  }

  async pendingJobs(): Promise<string[]> {
    return this.#reader.read(pendingJobs());
  }

  runJobChunk(jobId: string, now: number): Promise<JobProgress> {
    return this.#writer.submit('runJobChunk', jobId, now);
  }

  async findJob(accountId: string, jobId: string): Promise<StoredJob | undefined> {
    return this.#reader.read(findJob(accountId, jobId));
  }

  async readJobResults(jobId: string, chunk: number): Promise<Uint8Array | undefined> {
    return this.#reader.read(readJobResults(jobId, chunk));
  }

  async findRedirect(code: string): Promise<Redirect | undefined> {
    return this.#reader.read(findRedirect(code));
  }

  async linkChanges(since: number): Promise<LinkChanges> {
    return this.#reader.read(linkChanges(since));
  }

  addClicks(clicks: ReadonlyMap<string, number>): Promise<void> {
    return this.#writer.submit('addClicks', clicks);
  }

  async findLink(code: string): Promise<Link | undefined> {
    return this.#reader.read(findLink(this.#shortUrl, code));
  }

  setLinkActive(code: string, active: boolean): Promise<Link | undefined> {
    return this.#writer.submit('setLinkActive', code, active);
  }

  async usage(accountId: string, now: number): Promise<Usage> {
    return this.#reader.snapshot(() => this.#reader.read(usage(accountId, now)));
  }

  /** In bounded steps, between which other writes get their turn; each step is atomic. */
  async prune(now: number): Promise<void> {
    let step = await this.#writer.submit('pruneSome', now);
    while (!step.done) step = await this.#writer.submit('pruneSome', now);
  }

  async ping(): Promise<void> {
    this.#reader.get('SELECT 1 FROM schema_migrations LIMIT 1');
  }

  isHealthy(): boolean {
    return this.#writer.isHealthy && this.#file?.isInPlace() !== false;
  }

  async close(): Promise<void> {
    await this.#writer.close();
    this.#reader.close();
  }
}

import type { BatchResultItem, Link, Usage } from '@shortlink/sdk/wire';
import { toJobChunks } from '../job-chunks.ts';
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
import {
  findAccount,
  findKeyByHash,
  listAccounts,
  listDomains,
  listKeys,
  ownedDomains,
} from './queries/accounts.ts';
import { findJob, pendingJobs } from './queries/jobs.ts';
import { findLink, findRedirect, linkChanges } from './queries/links.ts';
import { usage } from './queries/usage.ts';
import type { WatchedWriter } from './watched-writer.ts';

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
    return listAccounts(this.#reader);
  }

  async findAccount(id: string): Promise<Account | undefined> {
    return findAccount(this.#reader, id);
  }

  createKey(input: Parameters<Store['createKey']>[0]): Promise<Outcome<ApiKey>> {
    return this.#writer.submit('createKey', input);
  }

  async listKeys(accountId: string): Promise<ApiKey[]> {
    return listKeys(this.#reader, accountId);
  }

  revokeKey(keyId: string, now: number): Promise<boolean> {
    return this.#writer.submit('revokeKey', keyId, now);
  }

  addDomain(input: Parameters<Store['addDomain']>[0]): Promise<Domain | undefined> {
    return this.#writer.submit('addDomain', input);
  }

  async listDomains(): Promise<Domain[]> {
    return listDomains(this.#reader);
  }

  async findKeyByHash(hash: Uint8Array): Promise<Caller | undefined> {
    return findKeyByHash(this.#reader, hash);
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
    return ownedDomains(this.#reader, accountId, ids);
  }

  async pendingJobs(): Promise<string[]> {
    return pendingJobs(this.#reader);
  }

  runJobChunk(jobId: string, now: number): Promise<JobProgress> {
    return this.#writer.submit('runJobChunk', jobId, now);
  }

  async findJob(accountId: string, jobId: string): Promise<StoredJob | undefined> {
    return findJob(this.#reader, accountId, jobId);
  }

  async findRedirect(code: string): Promise<Redirect | undefined> {
    return findRedirect(this.#reader, code);
  }

  async linkChanges(since: number): Promise<LinkChanges> {
    return linkChanges(this.#reader, since);
  }

  addClicks(clicks: ReadonlyMap<string, number>): Promise<void> {
    return this.#writer.submit('addClicks', clicks);
  }

  async findLink(code: string): Promise<Link | undefined> {
    return findLink(this.#reader, this.#shortUrl, code);
  }

  setLinkActive(code: string, active: boolean): Promise<Link | undefined> {
    return this.#writer.submit('setLinkActive', code, active);
  }

  async usage(accountId: string, now: number): Promise<Usage> {
    return usage(this.#reader, accountId, now);
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

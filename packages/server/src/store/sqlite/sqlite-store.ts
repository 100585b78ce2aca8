import type { BatchResultItem, Link, Usage } from '@shortlink/sdk/wire';
import { toJobChunks } from '../job-chunks.ts';
import * as accounts from '../queries/accounts.ts';
import { findJob, pendingJobs } from '../queries/jobs.ts';
import { findLink, findRedirect } from '../queries/links.ts';
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
  NewLink,
  Outcome,
  Redirect,
  Store,
  StoredJob,
} from '../store.ts';
import type { Database } from './database.ts';
import type { Input } from './operations/operations.ts';
import type { Writer } from './writer.ts';

export interface SqliteStoreParts {
  /** Connection for reads, on the thread that asks: they take microseconds. */
  reader: Database;
  writer: Writer;
  shortUrl: (code: string, hostname: string | null) => string;
}

/** The store on embedded SQLite: reads here, writes through the one {@link Writer}. */
export class SqliteStore implements Store {
  readonly #reader: Database;
  readonly #writer: Writer;
  readonly #shortUrl: SqliteStoreParts['shortUrl'];

  constructor(parts: SqliteStoreParts) {
    this.#reader = parts.reader;
    this.#writer = parts.writer;
    this.#shortUrl = parts.shortUrl;
  }

  createAccount(input: Input<'createAccount'>): Promise<Account> {
    return this.#writer.submit('createAccount', input);
  }

  async listAccounts(): Promise<Account[]> {
    return this.#reader.read(accounts.listAccounts());
  }

  async findAccount(id: string): Promise<Account | undefined> {
    return this.#reader.read(accounts.findAccount(id));
  }

  createKey(input: Input<'createKey'>): Promise<Outcome<ApiKey>> {
    return this.#writer.submit('createKey', input);
  }

  async listKeys(accountId: string): Promise<ApiKey[]> {
    return this.#reader.read(accounts.listKeys(accountId));
  }

  revokeKey(keyId: string, now: number): Promise<boolean> {
    return this.#writer.submit('revokeKey', { keyId, now });
  }

  addDomain(input: Input<'addDomain'>): Promise<Domain | undefined> {
    return this.#writer.submit('addDomain', input);
  }

  async listDomains(): Promise<Domain[]> {
    return this.#reader.read(accounts.listDomains());
  }

  async findKeyByHash(hash: Uint8Array): Promise<Caller | undefined> {
    return this.#reader.read(accounts.findKeyByHash(hash));
  }

  admit(caller: Caller, now: number): Promise<Admission> {
    return this.#writer.submit('admit', { caller, now });
  }

  refund(caller: Caller, now: number): Promise<void> {
    return this.#writer.submit('refund', { caller, now });
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
    return this.#writer.submit('runJobChunk', { jobId, now });
  }

  async findJob(accountId: string, jobId: string): Promise<StoredJob | undefined> {
    return this.#reader.read(findJob(accountId, jobId));
  }

  async findRedirect(code: string): Promise<Redirect | undefined> {
    return this.#reader.read(findRedirect(code));
  }

  addClicks(clicks: ReadonlyMap<string, number>): Promise<void> {
    return this.#writer.submit('addClicks', clicks);
  }

  async findLink(code: string): Promise<Link | undefined> {
    return this.#reader.read(findLink(this.#shortUrl, code));
  }

  setLinkActive(code: string, active: boolean): Promise<Link | undefined> {
    return this.#writer.submit('setLinkActive', { code, active });
  }

  async usage(accountId: string, now: number): Promise<Usage> {
    return this.#reader.snapshot(() => this.#reader.read(usage(accountId, now)));
  }

  /** In bounded steps, between which other writes get their turn; each step is atomic. */
  async prune(now: number): Promise<void> {
    let step = await this.#writer.submit('pruneSome', { now });
    while (!step.done) step = await this.#writer.submit('pruneSome', { now });
  }

  isHealthy(): boolean {
    try {
      this.#reader.get('SELECT 1 FROM schema_migrations LIMIT 1');
      return true;
    } catch {
      return false;
    }
  }

  async ping(): Promise<void> {
    this.#reader.get('SELECT 1 FROM schema_migrations LIMIT 1');
  }

  async close(): Promise<void> {
    await this.#writer.close();
    this.#reader.close();
  }
}

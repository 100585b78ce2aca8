import type { BatchResultItem, Link, Usage } from '@shortlink/sdk/wire';
import { startOfDay } from '../../domain/windows.ts';
import { toJobChunks } from '../job-chunks.ts';
import type { DomainRemoval, LinkSearch, RotationOutcome } from '../operator-store.ts';
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
import { StoreError } from '../store-error.ts';
import { CallGroups } from './call-groups.ts';
import type { Database } from './database.ts';
import { endSoon } from './end-soon.ts';
import type { PgBossQueue } from './job-queue.ts';
import { OpenCalls } from './open-calls.ts';
import { type AdmissionRequest, admissionGroup, admit, refund } from './operations/admit.ts';
import { addClicks, CLICK_SLOTS } from './operations/clicks.ts';
import { createBatch, createJob, createLink, createLinksTogether } from './operations/create.ts';
import type { LinkMaker } from './operations/insert-links.ts';
import { setLinkActive } from './operations/links.ts';
import { PRUNE_STEPS } from './operations/prune.ts';
import { runJobChunk } from './operations/run-job-chunk.ts';
import * as operators from './operators.ts';
import { toStoreError } from './postgres-errors.ts';
import * as found from './queries/accounts.ts';
import { findJob, pendingJobs, readJobResults } from './queries/jobs.ts';
import { findLink, findRedirect, linkChanges } from './queries/links.ts';
import { usage } from './queries/usage.ts';
import type { Session } from './session.ts';

/** Requests of one account that are counted or created together, at most. */
const ADMISSIONS_TOGETHER = 1_000;
const CREATES_TOGETHER = 200;

/** A database that answers later than this is not ready to be sent requests, in milliseconds. */
const PING_TIMEOUT_MS = 2_000;

export interface PostgresStoreParts {
  db: Database;
  queue: PgBossQueue;
  maker: LinkMaker;
}

/** The store on PostgreSQL: any number of instances share one database. */
export class PostgresStore implements Store {
  readonly jobQueue: PgBossQueue;
  readonly #db: Database;
  readonly #maker: LinkMaker;
  readonly #calls = new OpenCalls();
  readonly #clickSlot = Math.floor(Math.random() * CLICK_SLOTS);
  readonly #admissions: CallGroups<AdmissionRequest, Admission>;
  readonly #creates: CallGroups<CreateRequest<NewLink>, CreateOutcome<Link>>;
  #healthy = true;
  #closing: Promise<void> | undefined;

  constructor({ db, queue, maker }: PostgresStoreParts) {
    this.#db = db;
    this.jobQueue = queue;
    this.#maker = maker;
    this.#admissions = new CallGroups((requests) => admit(db, requests), ADMISSIONS_TOGETHER);
    this.#creates = new CallGroups(
      (requests) => createLinks(db, maker, requests),
      CREATES_TOGETHER,
    );
  }

  createAccount(input: Parameters<Store['createAccount']>[0]): Promise<Account> {
    return this.#write((session) => operators.createAccount(session, input));
  }

  listAccounts(): Promise<Account[]> {
    return this.#read(found.listAccounts);
  }

  findAccount(id: string): Promise<Account | undefined> {
    return this.#read((session) => found.findAccount(session, id));
  }

  updateAccount(input: Parameters<Store['updateAccount']>[0]): Promise<Account | undefined> {
    return this.#write((session) => operators.updateAccount(session, input));
  }

  setAccountDisabled(
    input: Parameters<Store['setAccountDisabled']>[0],
  ): Promise<Account | undefined> {
    return this.#write((session) => operators.setAccountDisabled(session, input));
  }

  createKey(input: Parameters<Store['createKey']>[0]): Promise<Outcome<ApiKey>> {
    return this.#write((session) => operators.createKey(session, input));
  }

  listKeys(accountId: string): Promise<ApiKey[]> {
    return this.#read((session) => found.listKeys(session, accountId));
  }

  revokeKey(keyId: string, now: number): Promise<boolean> {
    return this.#write((session) => operators.revokeKey(session, keyId, now));
  }

  rotateKey(input: Parameters<Store['rotateKey']>[0]): Promise<RotationOutcome> {
    return this.#write((session) => operators.rotateKey(session, input));
  }

  recordKeyUse(keyId: string, now: number): Promise<void> {
    return this.#write((session) => operators.recordKeyUse(session, keyId, now));
  }

  addDomain(input: Parameters<Store['addDomain']>[0]): Promise<Domain | undefined> {
    return this.#write((session) => operators.addDomain(session, input));
  }

  listDomains(): Promise<Domain[]> {
    return this.#read(found.listDomains);
  }

  removeDomain(input: Parameters<Store['removeDomain']>[0]): Promise<DomainRemoval> {
    return this.#write((session) => operators.removeDomain(session, input));
  }

  async listLinks(search: LinkSearch): Promise<Link[]> {
    const codes = await this.#read((session) => operators.findCodes(session, search));
    const links = await Promise.all(codes.map((code) => this.findLink(code)));
    return links.filter((link) => link !== undefined);
  }

  findKeyByHash(hash: Uint8Array): Promise<Caller | undefined> {
    return this.#read((session) => found.findKeyByHash(session, hash));
  }

  admit(caller: Caller, now: number): Promise<Admission> {
    const request = { caller, now };
    return this.#calls.run(() => this.#admissions.submit(admissionGroup(request), request));
  }

  refund(caller: Caller, now: number): Promise<void> {
    return this.#calls.run(() => refund(this.#db, { caller, now }));
  }

  createLink(request: CreateRequest<NewLink>): Promise<CreateOutcome<Link>> {
    if (request.idempotency !== undefined) {
      return this.#write((session) => createLink(this.#maker, session, request));
    }
    return this.#calls.run(async () => {
      // Here, so that an unknown domain is no failure of the others in its group.
      await this.#maker.hostnameOf(this.#db.reader, request.input.domain_id);
      return this.#creates.submit(createGroup(request), request);
    });
  }

  createBatch(
    request: CreateRequest<readonly NewLink[]>,
  ): Promise<CreateOutcome<BatchResultItem[]>> {
    return this.#write((session) => createBatch(this.#maker, session, request));
  }

  createJob(request: CreateRequest<readonly NewLink[]>): Promise<CreateOutcome<AcceptedJob>> {
    const input = { total: request.input.length, chunks: toJobChunks(request.input) };
    return this.#calls.run(async () => {
      await this.jobQueue.ready().catch((error: unknown) => {
        throw toStoreError(error, this.#db.name);
      });
      return this.#db.write((session) =>
        createJob(session, { ...request, input }, (...job) => this.jobQueue.enqueue(...job)),
      );
    });
  }

  ownedDomains(accountId: string, ids: readonly string[]): Promise<Set<string>> {
    return this.#read((session) => found.ownedDomains(session, accountId, ids));
  }

  pendingJobs(): Promise<string[]> {
    return this.#read(pendingJobs);
  }

  runJobChunk(jobId: string, now: number): Promise<JobProgress> {
    return this.#write((session) => runJobChunk(this.#maker, session, jobId, now));
  }

  findJob(accountId: string, jobId: string): Promise<StoredJob | undefined> {
    return this.#read((session) => findJob(session, accountId, jobId));
  }

  readJobResults(jobId: string, chunk: number): Promise<Uint8Array | undefined> {
    return this.#read((session) => readJobResults(session, jobId, chunk));
  }

  findRedirect(code: string): Promise<Redirect | undefined> {
    return this.#read((session) => findRedirect(session, code));
  }

  addClicks(clicks: ReadonlyMap<string, number>): Promise<void> {
    if (clicks.size === 0) return Promise.resolve();
    return this.#write((session) => addClicks(session, clicks, this.#clickSlot));
  }

  findLink(code: string): Promise<Link | undefined> {
    return this.#read((session) => findLink(session, this.#maker.shortUrl, code));
  }

  setLinkActive(code: string, active: boolean): Promise<Link | undefined> {
    return this.#write((session) => setLinkActive(session, this.#maker.shortUrl, code, active));
  }

  /** Asked a few times a second, so it also shows whether the database is there. */
  async linkChanges(since: number): Promise<LinkChanges> {
    this.#healthy = false;
    const changes = await this.#read((session) => linkChanges(session, since));
    this.#healthy = true;
    return changes;
  }

  isHealthy(): boolean {
    return this.#healthy;
  }

  usage(accountId: string, now: number): Promise<Usage> {
    return this.#calls.run(() => this.#db.snapshot((session) => usage(session, accountId, now)));
  }

  prune(now: number): Promise<void> {
    return this.#calls.run(async () => {
      for (const step of PRUNE_STEPS) {
        while (await this.#db.write((session) => step(session, now))) {
          // There is more.
        }
      }
    });
  }

  /** Also when the server has vanished without a word, which a connection notices late. */
  async ping(): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      const message = `The database ${this.#db.name} gave no answer in ${PING_TIMEOUT_MS} ms.`;
      timer = setTimeout(() => reject(new StoreError('unavailable', message)), PING_TIMEOUT_MS);
    });
    const answer = this.#read((session) => session.get('SELECT FROM schema_migrations LIMIT 1'));
    await Promise.race([answer, tooLate]).finally(() => clearTimeout(timer));
  }

  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    await this.#calls.close();
    await endSoon(this.jobQueue.close());
    await this.#db.close();
  }

  #read<T>(act: (session: Session) => Promise<T>): Promise<T> {
    return this.#calls.run(() => act(this.#db.reader));
  }

  #write<T>(act: (session: Session) => Promise<T>): Promise<T> {
    return this.#calls.run(() => this.#db.write(act));
  }
}

/** Requests with the same one may share a transaction: of one account, under one limit, on one day. */
function createGroup({ caller, now }: CreateRequest<NewLink>): string {
  return [caller.accountId, caller.limits.links, startOfDay(now)].join(' ');
}

/** Creates the links of a group (see {@link createGroup}) in one transaction, or, where the plan has not place for all, one by one. */
async function createLinks(
  db: Database,
  maker: LinkMaker,
  requests: readonly CreateRequest<NewLink>[],
): Promise<CreateOutcome<Link>[]> {
  const links = await db.write((session) => createLinksTogether(maker, session, requests));
  if (links !== undefined) return links.map((value) => ({ ok: true, value, replayed: false }));
  const outcomes: CreateOutcome<Link>[] = [];
  for (const request of requests) {
    outcomes.push(await db.write((session) => createLink(maker, session, request)));
  }
  return outcomes;
}

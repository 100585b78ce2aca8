import type * as wire from '@shortlink/sdk/wire';
import type { Link } from '@shortlink/sdk/wire';
import type { WindowState } from '../domain/limits.ts';
import type { ReachedLimit } from '../domain/problem.ts';
import type { LookupEntry, ValidLink } from '../domain/validate-link.ts';
import type { OperatorStore } from './operator-store.ts';

/**
 * Everything the service remembers. Each engine passes `store/contract.test-suite.ts`. Each method is one atomic step: it happens whole or not at
 * all, whatever other processes or a `kill -9` do meanwhile, and a write that resolves is durable, unless a method says otherwise. What fails rejects
 * with a `StoreError`, and nothing of it was stored, except with `outcome_unknown`; the store works again when the cause is gone.
 *
 * Times are arguments (`now`, milliseconds since the epoch), so that tests can move the clock.
 */
export interface Store extends OperatorStore {
  /** The key with this SHA-256 and its account, also if it has expired or the account is disabled; `undefined` when unknown or revoked. */
  findKeyByHash(hash: Uint8Array): Promise<Caller | undefined>;

  /**
   * Counts a request in the account's minute, day and month, or refuses it; that counts in the key's daily `refused` only. Of simultaneous requests,
   * exactly as many as the limit pass. The count is durable with the next durable write; this may resolve before.
   */
  admit(caller: Caller, now: number): Promise<Admission>;

  /** Takes back one admitted request that failed on our side (5xx), in the windows `now` of its admission. */
  refund(caller: Caller, now: number): Promise<void>;

  /** Takes one quota slot of the account's total of links and inserts the link, in one step. */
  createLink(request: CreateRequest<NewLink>): Promise<CreateOutcome<Link>>;
  /** The same for up to 100 links: all or none, in the order of `input`. More than the plan's batch size are refused, and counted as refused. */
  createBatch(
    request: CreateRequest<readonly NewLink[]>,
  ): Promise<CreateOutcome<wire.BatchResultItem[]>>;
  /** Checks the batch size, takes the quota slots and stores the job, in one step. With `runNow`, an idle store also creates its links in it. */
  createJob(request: CreateJobRequest): Promise<CreateOutcome<AcceptedJob>>;

  /** What a request created that had this key and fingerprint within the last 24 h, as its create returned it; undefined where none did. */
  findCreated(
    accountId: string,
    idempotency: Idempotency,
    now: number,
  ): Promise<object | undefined>;

  /** The links of each entry, oldest first, at most `most`, also if switched off. Reads only. */
  findLinks(accountId: string, entries: readonly LookupEntry[], most: number): Promise<Link[][]>;
  ownedDomains(accountId: string): Promise<Set<string>>;

  /** Unfinished jobs, oldest first, at most 1,000. Their rows are the queue: accepting a job is queueing it. */
  pendingJobs(): Promise<string[]>;
  unfinishedJobs(accountId: string): Promise<string[]>;
  /**
   * Creates the next chunk of a job's links (500, or several times that while no request waits) and its progress, in one step: a chunk is never run
   * twice. `done`: the job is complete, also when it was before, or unknown.
   */
  runJobChunk(jobId: string, now: number): Promise<JobProgress>;
  /** `undefined` for an unknown job, and for another account's. */
  findJob(accountId: string, jobId: string): Promise<StoredJob | undefined>;
  /** JSON of the results of one chunk, without brackets: a few megabytes at most. `undefined` when it isn't done, or the job was deleted. */
  readJobResults(jobId: string, chunk: number): Promise<Uint8Array | undefined>;

  /** Where a code leads, or an alias, which has a slash in it (see `aliasAddress`). Reads only. */
  findRedirect(address: string): Promise<Redirect | undefined>;
  /**
   * Adds buffered clicks, by code. Unknown codes are ignored. With `write`, nothing is added when this one, or a later one of its writer, was carried out
   * before: it can be repeated. The first 50 come into the list of their account's most clicked links if they belong there.
   */
  addClicks(clicks: ReadonlyMap<string, number>, write?: ClickWrite): Promise<void>;

  /** What the account uses of its plan; of each key, 30 days and the last refusals, newest first; and its most clicked links. */
  usage(accountId: string, now: number): Promise<wire.Usage>;
  /** Deletes what is past its retention, in bounded steps between which other writes get their turn. `signal` ends it after the present one. */
  prune(now: number, signal?: AbortSignal): Promise<void>;
  /** Changes since the one with this number, 0 for all; creates and clicks are none. Numbers follow the order of commits: nothing is missed. Reads only. */
  linkChanges(since: number): Promise<LinkChanges>;

  /** Whether the database took the last write; `false` while it is away, full, read-only, damaged or deleted. It turns `true` again by itself. */
  isHealthy(): boolean;
  /** The connections of this process to the database: absent where it has none, as with SQLite. */
  connections?: (() => { busy: number; idle: number; free: number }) | undefined;
  close(): Promise<void>;
}

export interface ClickWrite {
  /** A unique name of those writes that follow each other. */
  writer: string;
  /** Higher than that of the writer's last write. */
  number: number;
  now: number;
}

/** Changes of what redirects depend on: links, and the custom domains. */
export interface LinkChanges {
  latest: number;
  /** Codes of changed links, and ids of accounts and domains whose links all changed. `all`: any link may have changed, and the list of domains. */
  changed: readonly string[] | 'all';
}

export interface Account {
  id: string;
  name: string;
  plan: wire.Plan;
  limits: wire.PlanLimits;
  /** ISO 8601 in UTC; absent while the account is enabled. */
  disabled_at?: string | undefined;
}

export interface ApiKey
  extends Pick<wire.KeyUsage, 'id' | 'name'>,
    Partial<Pick<wire.KeyUsage, 'expires_at' | 'replaced_by' | 'last_used_at'>> {
  account_id: string;
  permissions: wire.Permission[];
}

export interface Domain {
  id: string;
  hostname: string;
  account_id: string;
  removed?: boolean | undefined;
}

export interface Caller extends Pick<Account, 'limits'> {
  keyId: string;
  accountId: string;
  permissions: readonly wire.Permission[];
  /** The key is rejected from then on, in milliseconds since the epoch; absent when it doesn't end. */
  expiresAt?: number | undefined;
  disabled?: boolean | undefined;
}

/** A validated link, ready to be stored. */
export type NewLink = ValidLink;

export interface CreateRequest<T> {
  caller: Caller;
  input: T;
  now: number;
  /** `Idempotency-Key` and a hash of the request, kept 24 h together with the response, in the same step as the create. */
  idempotency?: Idempotency | undefined;
}

export interface Idempotency {
  key: string;
  fingerprint: string;
}

/** The links of a job, cut into chunks where they were checked. */
export interface JobInput {
  total: number;
  /** JSON arrays of {@link NewLink} in UTF-8, in order. They may be passed on to another thread, and are empty then. */
  chunks: readonly Uint8Array<ArrayBuffer>[];
}

/** A create of a job. `runNow`: its links may be created at once. */
export type CreateJobRequest = CreateRequest<JobInput> & { runNow?: boolean };

export interface PlanLimitReached extends ReachedLimit {
  ok: false;
  reason: 'plan_limit';
}

export type Outcome<T> = { ok: true; value: T } | PlanLimitReached;

/** `replayed`: `value` is the response that this key and fingerprint had before. With another fingerprint, `idempotency_conflict`. */
export type CreateOutcome<T> =
  | { ok: true; value: T; replayed: boolean }
  | PlanLimitReached
  | { ok: false; reason: 'idempotency_conflict' };

export interface AcceptedJob extends Pick<wire.ProcessingBatch, 'job_id' | 'total'> {
  /** Links of the job that exist already. @default 0 */
  processed?: number;
}

export interface JobProgress {
  /** Links that this chunk created; 0 when there was nothing left to do. */
  created: number;
  processed: number;
  done: boolean;
  /** Another instance is running a chunk of this job at this moment; nothing was done here. */
  busy?: boolean;
}

export interface StoredJob extends Pick<wire.Job, 'id' | 'total' | 'processed'> {
  status: 'processing' | 'completed';
  /** Milliseconds since the epoch. */
  createdAt: number;
  /** The results so far: how many chunks can be read, the first being 0, and how many bytes they have joined by commas. */
  results: { chunks: number; bytes: number };
}

export interface Redirect extends Pick<Link, 'target_url' | 'redirect_type' | 'is_active'> {
  /** Host of the custom domain the link belongs to; `null` is the default domain. */
  hostname: string | null;
  /** Ids of its account and its custom domain; of an alias also the one of that domain, and the code. */
  owners: readonly string[];
  /** The code of the link, where it was found by an alias: then `hostname` is that of the alias. */
  code?: string;
}

export type Admission =
  | { admitted: true; windows: WindowState[] }
  /** `refusedBy` is the refusing window that ends last, so that waiting for it always succeeds. */
  | { admitted: false; windows: WindowState[]; refusedBy: WindowState };

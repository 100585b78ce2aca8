import type {
  BatchResultItem,
  Link,
  Permission,
  Plan,
  PlanLimitName,
  PlanLimits,
  RedirectType,
  Usage,
} from '@shortlink/sdk/wire';
import type { WindowState } from '../domain/windows.ts';

/**
 * Everything the service remembers. One interface, several engines: every engine passes
 * `store/contract.test-suite.ts`. Each method is one atomic step: it happens whole or not at all, also when
 * other requests, other processes or a `kill -9` come in between. A promise that resolves after a write
 * means that the write is durable, except where a method says otherwise. Whatever fails rejects with a `StoreError`,
 * and then nothing of the call was stored, except with the reason `outcome_unknown`; the store goes on when the cause is gone.
 *
 * Times are handed in (`now`, milliseconds since the epoch), so that tests can move the clock.
 */
export interface Store {
  // --- accounts, keys and domains (admin commands) ---

  createAccount(input: {
    name: string;
    plan: Plan;
    limits: PlanLimits;
    now: number;
  }): Promise<Account>;
  /** Oldest first. */
  listAccounts(): Promise<Account[]>;
  findAccount(id: string): Promise<Account | undefined>;

  /** Checks the plan's number of API keys and inserts in one step. */
  createKey(input: {
    accountId: string;
    name: string;
    permissions: readonly Permission[];
    hash: Uint8Array;
    now: number;
  }): Promise<Outcome<ApiKey>>;
  /** Keys that are not revoked, oldest first. */
  listKeys(accountId: string): Promise<ApiKey[]>;
  /** False when there is no such key, or it is revoked already. A revoked key frees its place in the plan. */
  revokeKey(keyId: string, now: number): Promise<boolean>;

  /** `undefined` when the hostname is taken, by any account. */
  addDomain(input: {
    hostname: string;
    accountId: string;
    now: number;
  }): Promise<Domain | undefined>;
  /** Oldest first. */
  listDomains(): Promise<Domain[]>;

  // --- requests ---

  /** The key with this SHA-256 and its account; `undefined` when unknown or revoked. Reads only. */
  findKeyByHash(hash: Uint8Array): Promise<Caller | undefined>;

  /**
   * Counts one request against the account's minute, day and month, or refuses it; a refused request counts
   * in no window, only in the key's daily `refused`. Exact under concurrency: with a limit of L, exactly L of
   * any number of simultaneous requests pass. The count is durable no later than the next durable write; it
   * may resolve before that.
   */
  admit(caller: Caller, now: number): Promise<Admission>;

  /** Takes back one admitted request that failed on our side (5xx), in the windows `now` of its admission. */
  refund(caller: Caller, now: number): Promise<void>;

  // --- links ---

  /** Takes one place of the account's total of links and inserts the link, in one step. */
  createLink(request: CreateRequest<NewLink>): Promise<CreateOutcome<Link>>;
  /**
   * The same for up to 100 links at once: all or none. `results` in the order of `input`. More links than the plan's batch size
   * are refused first, and counted as refused in the key's history.
   */
  createBatch(
    request: CreateRequest<readonly NewLink[]>,
  ): Promise<CreateOutcome<BatchResultItem[]>>;
  /**
   * Checks the batch size, reserves the places of all links and stores the job, in one step. The links come
   * with {@link runJobChunk}.
   */
  createJob(request: CreateRequest<readonly NewLink[]>): Promise<CreateOutcome<AcceptedJob>>;

  /** Ids of the account's domains among `ids`. */
  ownedDomains(accountId: string, ids: readonly string[]): Promise<Set<string>>;

  // --- jobs ---

  /** Unfinished jobs, oldest first, at most 1,000. Their rows are the queue: accepting a job is queueing it. */
  pendingJobs(): Promise<string[]>;
  /**
   * Creates the next chunk of a job's links (at most 500) and its progress, in one step: a chunk is never run twice, whichever
   * instances run the job. `done` is true when the job is complete (also when it was before), and for an unknown job.
   */
  runJobChunk(jobId: string, now: number): Promise<JobProgress>;
  /** `undefined` for an unknown job, and for another account's. */
  findJob(accountId: string, jobId: string): Promise<StoredJob | undefined>;

  // --- redirects ---

  /** What a code leads to. Reads only. */
  findRedirect(code: string): Promise<Redirect | undefined>;
  /** Adds buffered clicks, by code. Unknown codes are ignored. */
  addClicks(clicks: ReadonlyMap<string, number>): Promise<void>;

  findLink(code: string): Promise<Link | undefined>;
  /** `undefined` for an unknown code. */
  setLinkActive(code: string, active: boolean): Promise<Link | undefined>;

  // --- usage and housekeeping ---

  /** What the account uses of its plan; per key a history of at most 30 days, and the last refusals by a limit, newest first. */
  usage(accountId: string, now: number): Promise<Usage>;
  /**
   * Deletes what is past its retention (see `retention.ts`): idempotency records, counters of old windows, history of keys, and
   * completed jobs with their results. In several bounded steps, so that other writes get their turn.
   */
  prune(now: number): Promise<void>;
  /**
   * Tells a cache of every link that is changed, by whichever instance, until the store is closed. Missing on an engine that
   * can't tell: there a cache looks again after a moment.
   */
  watchLinks?(watcher: LinkWatcher): void;

  /**
   * Whether the database was in order when it was last used. It responds at once, whatever the database does: for metrics and
   * health checks.
   */
  isHealthy(): boolean;
  /** Rejects when the database can't be used. */
  ping(): Promise<void>;
  /** Finishes what was started, then closes. */
  close(): Promise<void>;
}

export interface LinkWatcher {
  /** The link of this code was changed: what was read of it before is old. */
  changed(code: string): void;
  /** Whether every change is told from now on. False until it is told otherwise: changes may go unnoticed. */
  connected(connected: boolean): void;
}

export interface Account {
  id: string;
  name: string;
  plan: Plan;
  limits: PlanLimits;
}

export interface ApiKey {
  id: string;
  account_id: string;
  name: string;
  permissions: Permission[];
}

export interface Domain {
  id: string;
  hostname: string;
  account_id: string;
}

/** Who makes a request: the key and its account. */
export interface Caller {
  keyId: string;
  accountId: string;
  permissions: readonly Permission[];
  plan: Plan;
  limits: PlanLimits;
}

/** A validated link, ready to be stored: every default is filled in. */
export interface NewLink {
  target_url: string;
  title: string;
  redirect_type: RedirectType;
  tags: readonly string[];
  /** `null` is the default domain. */
  domain_id: string | null;
}

/** A create by a caller, once or idempotently. */
export interface CreateRequest<T> {
  caller: Caller;
  input: T;
  now: number;
  /** `Idempotency-Key` and a hash of the request, kept 24 h together with the answer, in the same step as the create. */
  idempotency?: { key: string; fingerprint: string } | undefined;
}

/** A plan limit that would be passed; nothing was changed. */
export interface PlanLimitReached {
  ok: false;
  reason: 'plan_limit';
  limit: PlanLimitName;
  used: number;
  allowed: number;
}

export type Outcome<T> = { ok: true; value: T } | PlanLimitReached;

/**
 * `replayed` is true when the same idempotency key and fingerprint were answered before: `value` is that answer,
 * and nothing was created. With another fingerprint, `idempotency_conflict`.
 */
export type CreateOutcome<T> =
  | { ok: true; value: T; replayed: boolean }
  | PlanLimitReached
  | { ok: false; reason: 'idempotency_conflict' };

export interface AcceptedJob {
  job_id: string;
  total: number;
}

/** What one chunk of a job came to. */
export interface JobProgress {
  /** Links that this chunk created; 0 when there was nothing left to do. */
  created: number;
  /** Links of the job that exist now. */
  processed: number;
  done: boolean;
  /** Another instance is running a chunk of this job at this moment; nothing was done here. */
  busy?: boolean;
}

export interface StoredJob {
  id: string;
  status: 'processing' | 'completed';
  total: number;
  processed: number;
  /** JSON of the array of result items done so far, in order. Bytes, because it can be a megabyte that is only handed on. */
  resultsJson: Uint8Array;
}

export interface Redirect {
  target_url: string;
  redirect_type: RedirectType;
  is_active: boolean;
  /** Host of the custom domain the link belongs to; `null` is the default domain. */
  hostname: string | null;
}

export type Admission =
  | { admitted: true; windows: WindowState[] }
  /** `refusedBy` is the refusing window that ends last, so that waiting for it always succeeds. */
  | { admitted: false; windows: WindowState[]; refusedBy: WindowState };

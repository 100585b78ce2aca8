import type * as wire from '@shortlink/sdk/wire';
import type { Account, ApiKey, Domain, NewLink, Outcome } from './store.ts';

/** What only the operator's commands do: accounts, keys, domains, and finding links. Part of `Store`. */
export interface OperatorStore {
  /** A plan brings its own limits, some of which `limits` replace. */
  createAccount(input: NewAccount): Promise<Account>;
  /** Oldest first. */
  listAccounts(): Promise<Account[]>;
  findAccount(id: string): Promise<Account | undefined>;
  /** Holds for the next request of the account, on every instance. `undefined` for an unknown account. */
  updateAccount(input: { id: string; change: AccountChange }): Promise<Account | undefined>;
  /** Keys of a disabled account are rejected, its links don't redirect. Disabling again keeps the first time. `undefined`: unknown account. */
  setAccountDisabled(input: Disabling): Promise<Account | undefined>;

  /** Checks the plan's number of API keys, without revoked, expired and replaced ones, and inserts, in one step. */
  createKey(input: NewKey & { accountId: string }): Promise<Outcome<ApiKey>>;
  /** Keys that are not revoked, oldest first: also expired and replaced ones. */
  listKeys(accountId: string): Promise<ApiKey[]>;
  /** Whose key it was; `undefined` for an unknown key. A revoked key no longer counts in the plan. */
  revokeKey(keyId: string, now: number): Promise<RevokedKey | undefined>;
  /** Inserts a key like this one, and lets this one end after `graceMs`, in one step. The old key no longer counts in the plan. */
  rotateKey(input: KeyRotation): Promise<RotationOutcome>;
  /** Remembers when a key was last used. It may be lost in a crash. Unknown keys are ignored. */
  recordKeyUse(keyId: string, now: number): Promise<void>;

  /**
   * `undefined` when the hostname is taken, by any account. An account that had the hostname before gets its old id and
   * links back, whoever had it since. For any other account it is a new domain, and the old links stay without a host.
   */
  addDomain(input: NewDomain): Promise<Domain | undefined>;
  /** Oldest first; with `removed`, also those that were removed. */
  listDomains(which?: { removed: boolean }): Promise<Domain[]>;
  /** Takes a hostname out of service: no link can be created on it, and its links are inactive. One that has links needs `force`. */
  removeDomain(input: { hostname: string; force: boolean; now: number }): Promise<DomainRemoval>;
  /** What leads to its target on a hostname, or did before it was removed: links, and addresses that links had elsewhere. */
  domainUse(hostname: string): Promise<DomainUse>;

  findLink(code: string): Promise<wire.Link | undefined>;
  /** Where else a link is found, and how it was corrected, oldest first. Both are empty for an unknown code. */
  linkHistory(code: string): Promise<LinkHistory>;
  /** For each account of these links: how many of these links it has, and how many links in all. */
  countLinks(codes: readonly string[]): Promise<Map<string, { some: number; all: number }>>;
  /**
   * Changes where links lead, their titles, or both, each link once, and keeps what was before: all in one step, or none where one can't be changed. Of
   * two simultaneous corrections, the later one holds, and both are in the history. What is right already is left alone.
   */
  updateLinks(corrections: readonly LinkCorrection[]): Promise<CorrectionOutcome[]>;
  /**
   * Inserts links of an account with their aliases, and counts them in its total, whatever its plan allows; those that exist already are left as
   * they are: one of their addresses leads to their target, or did before it was corrected. A removed domain gets nothing. All in one step.
   */
  importLinks(input: LinkImport): Promise<ImportOutcome[]>;
  checkImport(input: LinkImport): Promise<ImportOutcome[]>;
  /** Gives all links, or an account's, of one moment, in the order of their codes, some at a time. It waits for each promise of `onLinks`. */
  exportLinks(
    accountId: string | undefined,
    onLinks: (links: readonly ExportedLink[]) => Promise<void>,
  ): Promise<void>;
  /** `undefined` for an unknown code. */
  setLinkActive(code: string, active: boolean): Promise<wire.Link | undefined>;
  /** Links of an account, newest first, after the one with the id `cursor`. It may read every link of the service. */
  listLinks(input: LinkSearch): Promise<wire.Link[]>;
}

/** A link that comes from another service, or from an export of ours. It was checked as a new one is. */
export interface ImportedLink extends NewLink, Pick<wire.Link, 'id' | 'is_active' | 'click_count'> {
  code?: string | undefined;
  /** Milliseconds since the epoch. */
  created_at: number;
  /** Addresses that it had before: the id of a custom domain, `''` for the default one, and a path as `canonicalPath` writes it. */
  aliases: readonly Alias[];
}

/** At most some thousand links: other writes wait for them. */
export interface LinkImport {
  accountId: string;
  links: readonly ImportedLink[];
  /** Which step of an import this is. Each draws new codes from a part of all codes, so that it changes few pages of the indexes. */
  step?: { number: number; of: number } | undefined;
}

/** Stands in place of the id of a domain, since a code is unique over all domains. */
export const ANY_DOMAIN = '*';

export interface Alias {
  domain_id: string;
  path: string;
}

/**
 * What became of an imported link, or would: `extended`: it exists, and got aliases that it didn't have. `conflict`: its code or one of
 * its aliases leads elsewhere, to `target_url`, or is of another account, which is named then; nothing was done. Nor was it where `removed`: it,
 * or an alias that it would get, is on a domain that was removed.
 */
export type ImportOutcome =
  | { state: 'created' | 'extended' | 'exists' }
  | { state: 'removed'; domain_id: string }
  | { state: 'conflict'; address: Alias; target_url: string; account_id?: string | undefined };

/** A link with all that is kept of it. `is_active` is its own state, whatever that of its account and its domain. */
export interface ExportedLink extends wire.Link {
  account_id: string;
  /** Hostname of its custom domain, `''` for the default one. */
  domain: string;
  aliases: string[];
}

/** What is to be different; what is left out stays. Limits are of the Custom plan only. */
export interface AccountChange {
  name?: string | undefined;
  plan?: wire.Plan | undefined;
  limits?: Partial<wire.PlanLimits> | undefined;
}

export type NewAccount = Pick<Account, 'name' | 'plan'> &
  Pick<AccountChange, 'limits'> & { now: number };
export type Disabling = { id: string; disabled: boolean; now: number };
export type NewDomain = { hostname: string; accountId: string; now: number };

export interface NewKey {
  name: string;
  permissions: readonly wire.Permission[];
  hash: Uint8Array;
  /** The key is rejected from then on, in milliseconds since the epoch. @default never */
  expiresAt?: number | undefined;
  now: number;
}

export interface RevokedKey {
  account_id: string;
  account: string;
  name: string;
  /** When it was revoked before, ISO 8601 in UTC; that stays. Absent when it is revoked now. */
  before?: string | undefined;
}

/** Without `expiresAt`, the new key ends when the old one would have. */
export interface KeyRotation extends Pick<NewKey, 'hash' | 'expiresAt' | 'now'> {
  keyId: string;
  /** How long the old key stays valid, in milliseconds. An earlier end of its own stays. */
  graceMs: number;
}

export type RotationOutcome =
  | { ok: true; value: ApiKey }
  /** `ended`: no such key, or it is revoked or expired. `rotated`: it has been replaced already. */
  | { ok: false; reason: 'ended' | 'rotated' };

export interface DomainUse {
  links: number;
  addresses: number;
}

export type DomainRemoval =
  | { ok: true; value: Domain }
  | { ok: false; reason: 'unknown' | 'has_links' };

export interface LinkCorrection {
  code: string;
  target_url?: string | undefined;
  title?: string | undefined;
  /** Correct the link only if it leads there. @default wherever it leads */
  ifTarget?: string | undefined;
  by: string;
  now: number;
}

/** What a correction replaced, and by what. Titles are there where they changed. */
export interface Correction {
  at: string;
  by: string;
  old_target: string;
  new_target: string;
  old_title?: string | undefined;
  new_title?: string | undefined;
}

export interface LinkHistory {
  aliases: string[];
  corrections: Correction[];
}

export type CorrectionOutcome =
  | { ok: true; value: wire.Link; changed: boolean }
  | { ok: false; reason: 'unknown' }
  /** It leads elsewhere than `ifTarget` says. */
  | { ok: false; reason: 'other_target'; target_url: string };

export interface LinkSearch {
  accountId: string;
  /** Text that the code, the target URL or the title contains, in upper or lower case; beyond ASCII, SQLite finds the same case only. */
  query?: string | undefined;
  limit: number;
  cursor?: string | undefined;
}

/** What a look at a database shows. What an engine doesn't have is absent. */
export interface DatabaseFacts {
  /** Version of its schema, 0 without one, and the newest that this program knows. */
  version: number;
  newest: number;
  /** Whether a pooler such as PgBouncer is in between. */
  isPooled?: boolean;
  /** How far the clock of the database is ahead of ours, in milliseconds. */
  clockAheadMs?: number;
  /** Connections that it grants to this user, those in use by anybody, and whether this user may write into its tables, or make them. */
  connections?: { most: number; used: number; writable?: boolean };
  /** Bytes of the database with its write-ahead log, and those that are free on its disk. */
  disk?: { used: number; free: number };
  /** Custom domains; none of a schema that this program doesn't know. */
  domains?: readonly Domain[];
}

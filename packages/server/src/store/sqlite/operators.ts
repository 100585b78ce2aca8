import type { PlanLimits } from '@shortlink/sdk/wire';
import { newAccountId, newDomainId, newKeyId } from '../../domain/ids.ts';
import { exceeds } from '../../domain/limits.ts';
import {
  changedAccount,
  earlier,
  isoTime,
  type LinkSearch,
  type NewKey,
} from '../operator-store.ts';
import { findAccount } from '../queries/accounts.ts';
import type { Account, ApiKey } from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { Database } from './database.ts';
import type { Operation } from './operations/operations.ts';

// The writes of the operator's commands. Each runs in one transaction.

const createAccount: Operation<'createAccount'> = ({ db }, { name, plan, limits, now }) => {
  const id = newAccountId();
  db.run(
    'INSERT INTO accounts (id, name, plan, limits, created_at) VALUES (?, ?, ?, ?, ?)',
    id,
    name,
    plan,
    JSON.stringify(limits),
    now,
  );
  return { id, name, plan, limits };
};

const updateAccount: Operation<'updateAccount'> = ({ db }, { id, change }) => {
  const account = db.read(findAccount(id));
  if (account === undefined) return undefined;
  const changed: Account = changedAccount(account, change);
  db.run(
    'UPDATE accounts SET name = ?, plan = ?, limits = ? WHERE id = ?',
    changed.name,
    changed.plan,
    JSON.stringify(changed.limits),
    id,
  );
  return changed;
};

const setAccountDisabled: Operation<'setAccountDisabled'> = ({ db }, { id, disabled, now }) => {
  db.run(
    'UPDATE accounts SET disabled_at = iif(?, coalesce(disabled_at, ?), NULL) WHERE id = ?',
    disabled ? 1 : 0,
    now,
    id,
  );
  return db.read(findAccount(id));
};

const createKey: Operation<'createKey'> = ({ db }, { accountId, ...key }) => {
  const account = db.get<{ limits: string; keys: number }>(
    `SELECT limits, (
       SELECT count(*) FROM api_keys WHERE account_id = accounts.id AND revoked_at IS NULL
         AND replaced_by IS NULL AND (expires_at IS NULL OR expires_at > ?)) AS keys
     FROM accounts WHERE id = ?`,
    key.now,
    accountId,
  );
  if (account === undefined) throw new StoreError('internal', `There is no account ${accountId}.`);
  const { api_keys: allowed }: PlanLimits = JSON.parse(account.limits);
  if (allowed !== null && exceeds(allowed, account.keys, 1)) {
    return { ok: false, reason: 'plan_limit', limit: 'api_keys', used: account.keys, allowed };
  }
  return { ok: true, value: insertKey(db, accountId, key) };
};

const revokeKey: Operation<'revokeKey'> = ({ db }, keyId, now) =>
  db.run('UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL', now, keyId) > 0;

const rotateKey: Operation<'rotateKey'> = ({ db }, { keyId, hash, graceMs, expiresAt, now }) => {
  const old = db.get<{
    account_id: string;
    name: string;
    permissions: string;
    expires_at: number | null;
    replaced_by: string | null;
  }>(
    `SELECT account_id, name, permissions, expires_at, replaced_by FROM api_keys
     WHERE id = ? AND revoked_at IS NULL`,
    keyId,
  );
  if (old === undefined || (old.expires_at ?? Number.POSITIVE_INFINITY) <= now) {
    return { ok: false, reason: old?.replaced_by ? 'rotated' : 'ended' };
  }
  if (old.replaced_by !== null) return { ok: false, reason: 'rotated' };
  const { account_id, name, permissions, expires_at } = old;
  const key = insertKey(db, account_id, {
    name,
    permissions: JSON.parse(permissions),
    hash,
    expiresAt: expiresAt ?? expires_at ?? undefined,
    now,
  });
  db.run(
    'UPDATE api_keys SET replaced_by = ?, expires_at = ? WHERE id = ?',
    key.id,
    earlier(expires_at, now + graceMs),
    keyId,
  );
  return { ok: true, value: key };
};

function insertKey(
  db: Database,
  accountId: string,
  { name, permissions, hash, expiresAt, now }: NewKey,
): ApiKey {
  const id = newKeyId();
  db.run(
    `INSERT INTO api_keys (id, account_id, name, permissions, hash, expires_at, created_at)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    id,
    accountId,
    name,
    JSON.stringify(permissions),
    hash,
    expiresAt ?? null,
    now,
  );
  const expires_at = isoTime(expiresAt);
  return { id, account_id: accountId, name, permissions: [...permissions], expires_at };
}

const recordKeyUse: Operation<'recordKeyUse'> = ({ db }, keyId, now) => {
  db.run(
    `INSERT INTO key_uses (key_id, used_at) SELECT id, ? FROM api_keys WHERE id = ?
     ON CONFLICT DO UPDATE SET used_at = max(used_at, excluded.used_at)`,
    now,
    keyId,
  );
};

const addDomain: Operation<'addDomain'> = ({ db }, { hostname, accountId, now }) => {
  const returned = db.get<{ id: string }>(
    `UPDATE domains SET removed_at = NULL
     WHERE hostname = ? AND account_id = ? AND removed_at IS NOT NULL RETURNING id`,
    hostname,
    accountId,
  );
  if (returned !== undefined) return { id: returned.id, hostname, account_id: accountId };
  // No Host header has a slash in it, so the links of the earlier owner lead nowhere.
  db.run(
    `UPDATE domains SET hostname = hostname || '/' || id WHERE hostname = ? AND removed_at IS NOT NULL`,
    hostname,
  );
  const id = newDomainId();
  const inserted = db.run(
    `INSERT INTO domains (id, hostname, account_id, created_at) VALUES (?, ?, ?, ?)
     ON CONFLICT (hostname) DO NOTHING`,
    id,
    hostname,
    accountId,
    now,
  );
  return inserted === 0 ? undefined : { id, hostname, account_id: accountId };
};

const removeDomain: Operation<'removeDomain'> = ({ db }, { hostname, force, now }) => {
  const domain = db.get<{ id: string; account_id: string }>(
    'SELECT id, account_id FROM domains WHERE hostname = ? AND removed_at IS NULL',
    hostname,
  );
  if (domain === undefined) return { ok: false, reason: 'unknown' };
  const { id, account_id } = domain;
  if (!force && db.get('SELECT 1 FROM links WHERE domain_id = ? LIMIT 1', id) !== undefined) {
    return { ok: false, reason: 'has_links' };
  }
  db.run('UPDATE domains SET removed_at = ? WHERE id = ?', now, id);
  return { ok: true, value: { id, hostname, account_id } };
};

export const operatorOperations = {
  createAccount,
  updateAccount,
  setAccountDisabled,
  createKey,
  revokeKey,
  rotateKey,
  recordKeyUse,
  addDomain,
  removeDomain,
} as const;

/** Codes of an account's links, newest first: ids of links sort by their time. */
export function findCodes(db: Database, { accountId, query, limit, cursor }: LinkSearch): string[] {
  const text = query ?? '';
  return db
    .all<{ code: string }>(
      `SELECT code FROM links WHERE account_id = ? AND (? = '' OR id < ?)
         AND (instr(lower(target_url), lower(?)) OR instr(lower(title), lower(?)) OR instr(lower(code), lower(?)))
       ORDER BY id DESC LIMIT ?`,
      accountId,
      cursor ?? '',
      cursor ?? '',
      text,
      text,
      text,
      limit,
    )
    .map((row) => row.code);
}

import type { PlanLimits } from '@shortlink/sdk/wire';
import { newAccountId, newDomainId, newKeyId } from '../../domain/ids.ts';
import { exceeds } from '../../domain/limits.ts';
import {
  changedAccount,
  type DomainRemoval,
  earlier,
  isoTime,
  type LinkSearch,
  type NewKey,
  type OperatorStore,
  type RotationOutcome,
} from '../operator-store.ts';
import { findAccount } from '../queries/accounts.ts';
import { readAsync } from '../queries/reading.ts';
import type { Account, ApiKey, Domain, Outcome } from '../store.ts';
import { StoreError } from '../store-error.ts';
import { readingOn, type Session } from './session.ts';

// The writes of the operator's commands. Each runs in one transaction.

type Input<N extends keyof OperatorStore> = Parameters<OperatorStore[N]>[0];

export async function createAccount(
  session: Session,
  { name, plan, limits, now }: Input<'createAccount'>,
): Promise<Account> {
  const id = newAccountId();
  await session.run(
    'INSERT INTO accounts (id, name, plan, limits, created_at) VALUES ($1, $2, $3, $4, $5)',
    id,
    name,
    plan,
    JSON.stringify(limits),
    now,
  );
  await session.run('INSERT INTO link_totals (account_id) VALUES ($1)', id);
  return { id, name, plan, limits };
}

export async function updateAccount(
  session: Session,
  { id, change }: Input<'updateAccount'>,
): Promise<Account | undefined> {
  await lockAccount(session, id);
  const account = await readAsync(findAccount(id), readingOn(session));
  if (account === undefined) return undefined;
  const changed = changedAccount(account, change);
  await session.run(
    'UPDATE accounts SET name = $2, plan = $3, limits = $4 WHERE id = $1',
    id,
    changed.name,
    changed.plan,
    JSON.stringify(changed.limits),
  );
  return changed;
}

export async function setAccountDisabled(
  session: Session,
  { id, disabled, now }: Input<'setAccountDisabled'>,
): Promise<Account | undefined> {
  await session.run(
    'UPDATE accounts SET disabled_at = CASE WHEN $2 THEN coalesce(disabled_at, $3) END WHERE id = $1',
    id,
    disabled,
    now,
  );
  return readAsync(findAccount(id), readingOn(session));
}

/** The account's row is locked while its keys are counted, so that simultaneous creates can't both take the last quota slot. */
export async function createKey(
  session: Session,
  { accountId, ...key }: Input<'createKey'>,
): Promise<Outcome<ApiKey>> {
  const limits = await lockAccount(session, accountId);
  if (limits === undefined) throw new StoreError('internal', `There is no account ${accountId}.`);
  const counted = await session.get<{ keys: number }>(
    `SELECT count(*) AS keys FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL
       AND replaced_by IS NULL AND (expires_at IS NULL OR expires_at > $2)`,
    accountId,
    key.now,
  );
  const used = counted?.keys ?? 0;
  const allowed = limits.api_keys;
  if (allowed !== null && exceeds(allowed, used, 1)) {
    return { ok: false, reason: 'plan_limit', limit: 'api_keys', used, allowed };
  }
  return { ok: true, value: await insertKey(session, accountId, key) };
}

export async function revokeKey(session: Session, keyId: string, now: number): Promise<boolean> {
  const revoked = await session.run(
    'UPDATE api_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL',
    now,
    keyId,
  );
  return revoked > 0;
}

export async function rotateKey(
  session: Session,
  { keyId, hash, graceMs, expiresAt, now }: Input<'rotateKey'>,
): Promise<RotationOutcome> {
  const old = await session.get<{
    account_id: string;
    name: string;
    permissions: string;
    expires_at: number | null;
    replaced_by: string | null;
  }>(
    `SELECT account_id, name, permissions, expires_at, replaced_by FROM api_keys
     WHERE id = $1 AND revoked_at IS NULL FOR UPDATE`,
    keyId,
  );
  if (old === undefined || (old.expires_at ?? Number.POSITIVE_INFINITY) <= now) {
    return { ok: false, reason: old?.replaced_by ? 'rotated' : 'ended' };
  }
  if (old.replaced_by !== null) return { ok: false, reason: 'rotated' };
  const { account_id, name, permissions, expires_at } = old;
  const key = await insertKey(session, account_id, {
    name,
    permissions: JSON.parse(permissions),
    hash,
    expiresAt: expiresAt ?? expires_at ?? undefined,
    now,
  });
  await session.run(
    'UPDATE api_keys SET replaced_by = $2, expires_at = $3 WHERE id = $1',
    keyId,
    key.id,
    earlier(expires_at, now + graceMs),
  );
  return { ok: true, value: key };
}

export async function recordKeyUse(session: Session, keyId: string, now: number): Promise<void> {
  await session.run(
    `INSERT INTO key_uses AS uses (key_id, used_at) SELECT id, $2 FROM api_keys WHERE id = $1
     ON CONFLICT (key_id) DO UPDATE SET used_at = greatest(uses.used_at, excluded.used_at)`,
    keyId,
    now,
  );
}

export async function addDomain(
  session: Session,
  { hostname, accountId, now }: Input<'addDomain'>,
): Promise<Domain | undefined> {
  const returned = await session.get<{ id: string }>(
    `UPDATE domains SET removed_at = NULL
     WHERE hostname = $1 AND account_id = $2 AND removed_at IS NOT NULL RETURNING id`,
    hostname,
    accountId,
  );
  if (returned !== undefined) {
    return { id: returned.id, hostname, account_id: accountId };
  }
  // No Host header has a slash in it, so the links of the earlier owner lead nowhere.
  await session.run(
    `UPDATE domains SET hostname = hostname || '/' || id WHERE hostname = $1 AND removed_at IS NOT NULL`,
    hostname,
  );
  const id = newDomainId();
  const inserted = await session.run(
    `INSERT INTO domains (id, hostname, account_id, created_at) VALUES ($1, $2, $3, $4)
     ON CONFLICT (hostname) DO NOTHING`,
    id,
    hostname,
    accountId,
    now,
  );
  return inserted === 0 ? undefined : { id, hostname, account_id: accountId };
}

export async function removeDomain(
  session: Session,
  { hostname, force, now }: Input<'removeDomain'>,
): Promise<DomainRemoval> {
  const domain = await session.get<{ id: string; account_id: string }>(
    'SELECT id, account_id FROM domains WHERE hostname = $1 AND removed_at IS NULL FOR UPDATE',
    hostname,
  );
  if (domain === undefined) return { ok: false, reason: 'unknown' };
  const { id, account_id } = domain;
  const link =
    !force && (await session.get('SELECT code FROM links WHERE domain_id = $1 LIMIT 1', id));
  if (link) return { ok: false, reason: 'has_links' };
  await session.run('UPDATE domains SET removed_at = $2 WHERE id = $1', id, now);
  return { ok: true, value: { id, hostname, account_id } };
}

/** Codes of an account's links, newest first: ids of links sort by their time. */
export async function findCodes(
  session: Session,
  { accountId, query, limit, cursor }: LinkSearch,
): Promise<string[]> {
  const text = query ?? '';
  const rows = await session.all<{ code: string }>(
    `SELECT code FROM links WHERE account_id = $1 AND ($2::uuid IS NULL OR id < $2)
       AND (strpos(lower(target_url), lower($3)) > 0 OR strpos(lower(title), lower($4)) > 0
         OR strpos(lower(code), lower($3)) > 0)
     ORDER BY id DESC LIMIT $5`,
    accountId,
    cursor ?? null,
    text,
    // Titles are stored as JSON.
    JSON.stringify(text).slice(1, -1),
    limit,
  );
  return rows.map((row) => row.code);
}

/** The limits of an account, whose row is locked until the transaction ends. */
async function lockAccount(session: Session, id: string): Promise<PlanLimits | undefined> {
  const row = await session.get<{ limits: string }>(
    'SELECT limits FROM accounts WHERE id = $1 FOR NO KEY UPDATE',
    id,
  );
  return row && JSON.parse(row.limits);
}

async function insertKey(
  session: Session,
  accountId: string,
  { name, permissions, hash, expiresAt, now }: NewKey,
): Promise<ApiKey> {
  const id = newKeyId();
  await session.run(
    `INSERT INTO api_keys (id, account_id, name, permissions, hash, expires_at, created_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
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

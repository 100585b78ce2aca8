import { timingSafeEqual } from 'node:crypto';
import type { Permission, Plan } from '@shortlink/sdk/wire';
import { isoTime } from '../../operator-store.ts';
import type { Account, ApiKey, Caller, Domain } from '../../store.ts';
import type { Database } from '../database.ts';

interface AccountRow {
  id: string;
  name: string;
  plan: Plan;
  limits: string;
  disabled_at: number | null;
}

const ACCOUNT_COLUMNS = 'id, name, plan, limits, disabled_at';

export function listAccounts(db: Database): Account[] {
  return db
    .all<AccountRow>(`SELECT ${ACCOUNT_COLUMNS} FROM accounts ORDER BY rowid`)
    .map((row) => toAccount(row));
}

export function findAccount(db: Database, id: string): Account | undefined {
  const row = db.get<AccountRow>(`SELECT ${ACCOUNT_COLUMNS} FROM accounts WHERE id = ?`, id);
  return row && toAccount(row);
}

function toAccount({ id, name, plan, limits, disabled_at }: AccountRow): Account {
  return { id, name, plan, limits: JSON.parse(limits), disabled_at: isoTime(disabled_at) };
}

export function listKeys(db: Database, accountId: string): ApiKey[] {
  return db
    .all<{
      id: string;
      account_id: string;
      name: string;
      permissions: string;
      expires_at: number | null;
      replaced_by: string | null;
      used_at: number | null;
    }>(
      `SELECT id, account_id, name, permissions, expires_at, replaced_by, used_at
       FROM api_keys LEFT JOIN key_uses ON key_id = id
       WHERE account_id = ? AND revoked_at IS NULL ORDER BY api_keys.rowid`,
      accountId,
    )
    .map(({ permissions, expires_at, replaced_by, used_at, ...key }) => ({
      ...key,
      permissions: JSON.parse(permissions),
      expires_at: isoTime(expires_at),
      replaced_by: replaced_by ?? undefined,
      last_used_at: isoTime(used_at),
    }));
}

export function findKeyByHash(db: Database, hash: Uint8Array): Caller | undefined {
  const row = db.get<{
    keyId: string;
    accountId: string;
    permissions: string;
    hash: Uint8Array;
    plan: Plan;
    limits: string;
    expires_at: number | null;
    disabled_at: number | null;
  }>(
    `SELECT api_keys.id AS keyId, account_id AS accountId, permissions, hash, plan, limits, expires_at, disabled_at
     FROM api_keys JOIN accounts ON accounts.id = account_id WHERE hash = ? AND revoked_at IS NULL`,
    hash,
  );
  // The index compares byte by byte and may tell how many bytes matched; of a SHA-256 that gives nothing to search with.
  if (row === undefined || !timingSafeEqual(row.hash, hash)) return undefined;
  const permissions: Permission[] = JSON.parse(row.permissions);
  const { keyId, accountId, plan, limits, expires_at, disabled_at } = row;
  return {
    keyId,
    accountId,
    permissions,
    plan,
    limits: JSON.parse(limits),
    expiresAt: expires_at ?? undefined,
    disabled: disabled_at === null ? undefined : true,
  };
}

export function listDomains(db: Database): Domain[] {
  return db.all<Domain>(
    'SELECT id, hostname, account_id FROM domains WHERE removed_at IS NULL ORDER BY rowid',
  );
}

export function ownedDomains(db: Database, accountId: string, ids: readonly string[]): Set<string> {
  const owned = db.all<{ id: string }>(
    'SELECT id FROM domains WHERE account_id = ? AND removed_at IS NULL AND id IN (SELECT value FROM json_each(?))',
    accountId,
    JSON.stringify(ids),
  );
  return new Set(owned.map((row) => row.id));
}

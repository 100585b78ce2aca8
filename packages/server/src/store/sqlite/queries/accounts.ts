import { timingSafeEqual } from 'node:crypto';
import type { Permission, Plan } from '@shortlink/sdk/wire';
import type { Account, ApiKey, Caller, Domain } from '../../store.ts';
import type { Database } from '../database.ts';

interface AccountRow {
  id: string;
  name: string;
  plan: Plan;
  limits: string;
}

const ACCOUNT_COLUMNS = 'id, name, plan, limits';

export function listAccounts(db: Database): Account[] {
  return db
    .all<AccountRow>(`SELECT ${ACCOUNT_COLUMNS} FROM accounts ORDER BY rowid`)
    .map((row) => toAccount(row));
}

export function findAccount(db: Database, id: string): Account | undefined {
  const row = db.get<AccountRow>(`SELECT ${ACCOUNT_COLUMNS} FROM accounts WHERE id = ?`, id);
  return row && toAccount(row);
}

function toAccount({ id, name, plan, limits }: AccountRow): Account {
  return { id, name, plan, limits: JSON.parse(limits) };
}

export function listKeys(db: Database, accountId: string): ApiKey[] {
  return db
    .all<{ id: string; account_id: string; name: string; permissions: string }>(
      `SELECT id, account_id, name, permissions FROM api_keys
       WHERE account_id = ? AND revoked_at IS NULL ORDER BY rowid`,
      accountId,
    )
    .map(({ permissions, ...key }) => ({ ...key, permissions: JSON.parse(permissions) }));
}

export function findKeyByHash(db: Database, hash: Uint8Array): Caller | undefined {
  const row = db.get<{
    keyId: string;
    accountId: string;
    permissions: string;
    hash: Uint8Array;
    plan: Plan;
    limits: string;
  }>(
    `SELECT api_keys.id AS keyId, account_id AS accountId, permissions, hash, plan, limits
     FROM api_keys JOIN accounts ON accounts.id = account_id WHERE hash = ? AND revoked_at IS NULL`,
    hash,
  );
  // The index compares byte by byte and may tell how many bytes matched; of a SHA-256 that gives nothing to search with.
  if (row === undefined || !timingSafeEqual(row.hash, hash)) return undefined;
  const permissions: Permission[] = JSON.parse(row.permissions);
  const { keyId, accountId, plan, limits } = row;
  return { keyId, accountId, permissions, plan, limits: JSON.parse(limits) };
}

export function listDomains(db: Database): Domain[] {
  return db.all<Domain>('SELECT id, hostname, account_id FROM domains ORDER BY rowid');
}

export function ownedDomains(db: Database, accountId: string, ids: readonly string[]): Set<string> {
  const owned = db.all<{ id: string }>(
    'SELECT id FROM domains WHERE account_id = ? AND id IN (SELECT value FROM json_each(?))',
    accountId,
    JSON.stringify(ids),
  );
  return new Set(owned.map((row) => row.id));
}

import { timingSafeEqual } from 'node:crypto';
import type { Permission, Plan } from '@shortlink/sdk/wire';
import type { Account, ApiKey, Caller, Domain } from '../../store.ts';
import type { Session } from '../session.ts';

interface AccountRow {
  id: string;
  name: string;
  plan: Plan;
  limits: string;
}

const ACCOUNT_COLUMNS = 'id, name, plan, limits';

export async function listAccounts(session: Session): Promise<Account[]> {
  const rows = await session.all<AccountRow>(
    `SELECT ${ACCOUNT_COLUMNS} FROM accounts ORDER BY position`,
  );
  return rows.map((row) => toAccount(row));
}

export async function findAccount(session: Session, id: string): Promise<Account | undefined> {
  const row = await session.get<AccountRow>(
    `SELECT ${ACCOUNT_COLUMNS} FROM accounts WHERE id = $1`,
    id,
  );
  return row && toAccount(row);
}

function toAccount({ id, name, plan, limits }: AccountRow): Account {
  return { id, name, plan, limits: JSON.parse(limits) };
}

export async function listKeys(session: Session, accountId: string): Promise<ApiKey[]> {
  const rows = await session.all<{
    id: string;
    account_id: string;
    name: string;
    permissions: string;
  }>(
    `SELECT id, account_id, name, permissions FROM api_keys
     WHERE account_id = $1 AND revoked_at IS NULL ORDER BY position`,
    accountId,
  );
  return rows.map(({ permissions, ...key }) => ({ ...key, permissions: JSON.parse(permissions) }));
}

export async function findKeyByHash(
  session: Session,
  hash: Uint8Array,
): Promise<Caller | undefined> {
  const row = await session.get<{
    key_id: string;
    account_id: string;
    permissions: string;
    hash: Uint8Array;
    plan: Plan;
    limits: string;
  }>(
    `SELECT api_keys.id AS key_id, account_id, permissions, hash, plan, limits
     FROM api_keys JOIN accounts ON accounts.id = account_id WHERE hash = $1 AND revoked_at IS NULL`,
    hash,
  );
  // The index compares byte by byte and may tell how many bytes matched; of a SHA-256 that gives nothing to search with.
  if (row === undefined || !timingSafeEqual(row.hash, hash)) return undefined;
  const permissions: Permission[] = JSON.parse(row.permissions);
  return {
    keyId: row.key_id,
    accountId: row.account_id,
    permissions,
    plan: row.plan,
    limits: JSON.parse(row.limits),
  };
}

export function listDomains(session: Session): Promise<Domain[]> {
  return session.all<Domain & Record<string, string>>(
    'SELECT id, hostname, account_id FROM domains ORDER BY position',
  );
}

export async function ownedDomains(
  session: Session,
  accountId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const owned = await session.all<{ id: string }>(
    'SELECT id FROM domains WHERE account_id = $1 AND id = ANY($2::text[])',
    accountId,
    ids,
  );
  return new Set(owned.map((row) => row.id));
}

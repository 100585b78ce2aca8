import { timingSafeEqual } from 'node:crypto';
import type { Permission, Plan } from '@shortlink/sdk/wire';
import { isoTime } from '../../operator-store.ts';
import type { Account, ApiKey, Caller, Domain } from '../../store.ts';
import type { Session } from '../session.ts';

interface AccountRow {
  id: string;
  name: string;
  plan: Plan;
  limits: string;
  disabled_at: number | null;
}

const ACCOUNT_COLUMNS = 'id, name, plan, limits, disabled_at';

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

function toAccount({ id, name, plan, limits, disabled_at }: AccountRow): Account {
  return { id, name, plan, limits: JSON.parse(limits), disabled_at: isoTime(disabled_at) };
}

export async function listKeys(session: Session, accountId: string): Promise<ApiKey[]> {
  const rows = await session.all<{
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
     WHERE account_id = $1 AND revoked_at IS NULL ORDER BY position`,
    accountId,
  );
  return rows.map(({ permissions, expires_at, replaced_by, used_at, ...key }) => ({
    ...key,
    permissions: JSON.parse(permissions),
    expires_at: isoTime(expires_at),
    replaced_by: replaced_by ?? undefined,
    last_used_at: isoTime(used_at),
  }));
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
    expires_at: number | null;
    disabled_at: number | null;
  }>(
    `SELECT api_keys.id AS key_id, account_id, permissions, hash, plan, limits, expires_at, disabled_at
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
    expiresAt: row.expires_at ?? undefined,
    disabled: row.disabled_at === null ? undefined : true,
  };
}

export function listDomains(session: Session): Promise<Domain[]> {
  return session.all<Domain & Record<string, string>>(
    'SELECT id, hostname, account_id FROM domains WHERE removed_at IS NULL ORDER BY position',
  );
}

export async function ownedDomains(
  session: Session,
  accountId: string,
  ids: readonly string[],
): Promise<Set<string>> {
  const owned = await session.all<{ id: string }>(
    'SELECT id FROM domains WHERE account_id = $1 AND removed_at IS NULL AND id = ANY($2::text[])',
    accountId,
    ids,
  );
  return new Set(owned.map((row) => row.id));
}

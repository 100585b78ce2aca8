import type { Permission, Plan, PlanLimits } from '@shortlink/sdk/wire';
import { newAccountId, newDomainId, newKeyId } from '../../../domain/ids.ts';
import { exceeds } from '../../../domain/limits.ts';
import type { Account, ApiKey, Domain, Outcome } from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import type { Session } from '../session.ts';

export async function createAccount(
  session: Session,
  input: { name: string; plan: Plan; limits: PlanLimits; now: number },
): Promise<Account> {
  const { name, plan, limits, now } = input;
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

/** The account's row is locked while its keys are counted, so that simultaneous creates can't both take the last place. */
export async function createKey(
  session: Session,
  input: {
    accountId: string;
    name: string;
    permissions: readonly Permission[];
    hash: Uint8Array;
    now: number;
  },
): Promise<Outcome<ApiKey>> {
  const { accountId, name, permissions, hash, now } = input;
  const account = await session.get<{ limits: string }>(
    'SELECT limits FROM accounts WHERE id = $1 FOR NO KEY UPDATE',
    accountId,
  );
  if (account === undefined) throw new StoreError('internal', `There is no account ${accountId}.`);
  const counted = await session.get<{ keys: number }>(
    'SELECT count(*) AS keys FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL',
    accountId,
  );
  const used = counted?.keys ?? 0;
  const { api_keys: allowed }: PlanLimits = JSON.parse(account.limits);
  if (allowed !== null && exceeds(allowed, used, 1)) {
    return { ok: false, reason: 'plan_limit', limit: 'api_keys', used, allowed };
  }
  const id = newKeyId();
  await session.run(
    'INSERT INTO api_keys (id, account_id, name, permissions, hash, created_at) VALUES ($1, $2, $3, $4, $5, $6)',
    id,
    accountId,
    name,
    JSON.stringify(permissions),
    hash,
    now,
  );
  return { ok: true, value: { id, account_id: accountId, name, permissions: [...permissions] } };
}

export async function revokeKey(session: Session, keyId: string, now: number): Promise<boolean> {
  const revoked = await session.run(
    'UPDATE api_keys SET revoked_at = $1 WHERE id = $2 AND revoked_at IS NULL',
    now,
    keyId,
  );
  return revoked > 0;
}

export async function addDomain(
  session: Session,
  input: { hostname: string; accountId: string; now: number },
): Promise<Domain | undefined> {
  const { hostname, accountId, now } = input;
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

import type { PlanLimits } from '@shortlink/sdk/wire';
import { newAccountId, newDomainId, newKeyId } from '../../../domain/ids.ts';
import { exceeds } from '../../../domain/limits.ts';
import { StoreError } from '../../store-error.ts';
import type { Operation } from './operations.ts';

export const createAccount: Operation<'createAccount'> = ({ db }, { name, plan, limits, now }) => {
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

export const createKey: Operation<'createKey'> = (
  { db },
  { accountId, name, permissions, hash, now },
) => {
  const account = db.get<{ limits: string; keys: number }>(
    `SELECT limits, (SELECT count(*) FROM api_keys WHERE account_id = accounts.id AND revoked_at IS NULL) AS keys
     FROM accounts WHERE id = ?`,
    accountId,
  );
  if (account === undefined) {
    throw new StoreError('internal', `There is no account ${accountId}.`);
  }
  const limits: PlanLimits = JSON.parse(account.limits);
  if (limits.api_keys !== null && exceeds(limits.api_keys, account.keys, 1)) {
    return {
      ok: false,
      reason: 'plan_limit',
      limit: 'api_keys',
      used: account.keys,
      allowed: limits.api_keys,
    };
  }
  const id = newKeyId();
  db.run(
    'INSERT INTO api_keys (id, account_id, name, permissions, hash, created_at) VALUES (?, ?, ?, ?, ?, ?)',
    id,
    accountId,
    name,
    JSON.stringify(permissions),
    hash,
    now,
  );
  return { ok: true, value: { id, account_id: accountId, name, permissions: [...permissions] } };
};

export const revokeKey: Operation<'revokeKey'> = ({ db }, keyId, now) =>
  db.run('UPDATE api_keys SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL', now, keyId) > 0;

export const addDomain: Operation<'addDomain'> = ({ db }, { hostname, accountId, now }) => {
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

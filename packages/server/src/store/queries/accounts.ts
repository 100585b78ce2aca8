import type { Permission } from '@shortlink/sdk/wire';
import type { Reads } from '../engine.ts';
import type { Account, ApiKey, Domain } from '../store.ts';
import { type Reading, rowOf, rowsOf, sql, sqlText } from './reading.ts';

export type AccountRow = Pick<Account, 'id' | 'name' | 'plan'> & {
  limits: string;
  disabled_at: number | null;
};

export const ACCOUNT = sqlText('id, name, plan, limits, disabled_at');

export interface KeyRow extends Pick<ApiKey, 'id' | 'name'> {
  permissions: string;
  expires_at: number | null;
  replaced_by: string | null;
  used_at: number | null;
}

export const accountReads = {
  *listAccounts() {
    const rows = yield* rowsOf<AccountRow>(
      sql`SELECT ${ACCOUNT} FROM accounts ORDER BY accounts.rowid`,
    );
    return rows.map((row) => toAccount(row));
  },

  *findAccount(_, id) {
    const row = yield* rowOf<AccountRow>(sql`SELECT ${ACCOUNT} FROM accounts WHERE id = ${id}`);
    return row && toAccount(row);
  },

  *listKeys(_, accountId) {
    const rows = yield* rowsOf<KeyRow & { account_id: string }>(sql`
      SELECT id, account_id, name, permissions, expires_at, replaced_by, used_at
      FROM api_keys LEFT JOIN key_uses ON key_id = id
      WHERE account_id = ${accountId} AND revoked_at IS NULL ORDER BY api_keys.rowid`);
    return rows.map(toKey);
  },

  *findKeyByHash(_, hash) {
    type Row = Pick<KeyRow & AccountRow, 'permissions' | 'expires_at' | 'limits' | 'disabled_at'>;
    // The look-up in the index takes longer the more bytes match. That helps no attacker, since nobody can choose the bytes of a SHA-256.
    const row = yield* rowOf<Row & { key_id: string; account_id: string }>(sql`
      SELECT api_keys.id AS key_id, account_id, permissions, limits, expires_at, disabled_at
      FROM api_keys JOIN accounts ON accounts.id = account_id WHERE hash = ${hash} AND revoked_at IS NULL`);
    if (row === undefined) return undefined;
    return {
      keyId: row.key_id,
      accountId: row.account_id,
      permissions: JSON.parse(row.permissions),
      limits: JSON.parse(row.limits),
      expiresAt: row.expires_at ?? undefined,
      disabled: row.disabled_at === null ? undefined : true,
    };
  },

  listDomains: (_, which) => allDomains(which),

  /** @param lock - of rows, which keeps these from being removed until the transaction ends */
  *ownedDomains(_, accountId, lock = sqlText('')) {
    const owned = yield* rowsOf<{ id: string }>(sql`
      SELECT id FROM domains WHERE account_id = ${accountId} AND removed_at IS NULL ORDER BY id ${lock}`);
    return new Set(owned.map(({ id }) => id));
  },

  *countLinks({ table }, codes) {
    const listed = codes.map((code) => ({ code }));
    const counts = yield* rowsOf<{ account_id: string; some: number; all: number }>(sql`
      SELECT links.account_id, count(*) AS "some", max(used) AS "all"
      FROM ${table(['code'], listed)} CROSS JOIN links JOIN link_totals ON link_totals.account_id = links.account_id
      WHERE links.code = listed.code GROUP BY links.account_id`);
    return new Map(counts.map(({ account_id, ...count }) => [account_id, count]));
  },
} satisfies Reads;

export function* allDomains({ removed } = { removed: false }): Reading<Domain[]> {
  const rows = yield* rowsOf<Domain & { removed_at: number | null }>(sql`
    SELECT id, hostname, account_id, removed_at FROM domains ORDER BY domains.rowid`);
  return rows
    .filter(({ removed_at }) => removed || removed_at === null)
    .map(({ removed_at, ...one }) => (removed_at === null ? one : { ...one, removed: true }));
}

export function toAccount({ id, name, plan, limits, disabled_at }: AccountRow): Account {
  return { id, name, plan, limits: JSON.parse(limits), disabled_at: isoTime(disabled_at) };
}

export function toKey<R extends KeyRow>(row: R) {
  const { permissions, expires_at, replaced_by, used_at, ...key } = row;
  return {
    ...key,
    permissions: JSON.parse(permissions) as Permission[],
    expires_at: isoTime(expires_at),
    replaced_by: replaced_by ?? undefined,
    last_used_at: isoTime(used_at),
  };
}

export function isoTime(ms: number | null | undefined): string | undefined {
  return ms === null || ms === undefined ? undefined : new Date(ms).toISOString();
}

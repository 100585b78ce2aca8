import type { KeyDay, KeyRefusal, KeyUsage, Usage, WindowUsage } from '@shortlink/sdk/wire';
import { requestLimit } from '../../../domain/limits.ts';
import { dateOf, windowsAt } from '../../../domain/windows.ts';
import { isoTime } from '../../operator-store.ts';
import { REFUSAL_RETENTION_MS, USAGE_HISTORY_DAYS, USAGE_REFUSALS } from '../../retention.ts';
import { StoreError } from '../../store-error.ts';
import type { Database } from '../database.ts';
import { findAccount } from './accounts.ts';
import { requestsUsed } from './request-counters.ts';

export function usage(db: Database, accountId: string, now: number): Usage {
  return db.snapshot(() => {
    const account = findAccount(db, accountId);
    if (account === undefined) {
      throw new StoreError('internal', `There is no account ${accountId}.`);
    }
    const { plan, limits } = account;
    const windows = windowsAt(now);
    const used = requestsUsed(db, accountId, windows);
    const [minute, day, month] = windows;
    const windowUsage = ({ name, endsAt }: (typeof windows)[number]): WindowUsage => ({
      used: used[name],
      limit: requestLimit(limits, name),
      resets_at: new Date(endsAt).toISOString(),
    });
    const keys = keyUsages(db, accountId, now);
    return {
      plan,
      requests: { minute: windowUsage(minute), day: windowUsage(day), month: windowUsage(month) },
      links: { used: linksUsed(db, accountId), limit: limits.links },
      api_keys: {
        used: keys.filter((key) => key.replaced_by === undefined).length,
        limit: limits.api_keys,
      },
      batch_size: limits.batch_size,
      keys,
    };
  });
}

function linksUsed(db: Database, accountId: string): number {
  const row = db.get<{ links_used: number }>(
    'SELECT links_used FROM accounts WHERE id = ?',
    accountId,
  );
  return row?.links_used ?? 0;
}

/** The account's keys that are not revoked, oldest first. */
function keyUsages(db: Database, accountId: string, now: number): KeyUsage[] {
  const [minute, day, month] = windowsAt(now);
  return db
    .all<{
      id: string;
      name: string;
      permissions: string;
      created_at: number;
      minute: number;
      day: number;
      month: number;
      expires_at: number | null;
      replaced_by: string | null;
      used_at: number | null;
    }>(
      `SELECT id, name, permissions, api_keys.created_at, expires_at, replaced_by,
         (SELECT used_at FROM key_uses WHERE key_uses.key_id = id) AS used_at,
         coalesce(sum(minute_requests) FILTER (WHERE minute = ?), 0) AS minute,
         coalesce(sum(requests) FILTER (WHERE day = ?), 0) AS day,
         coalesce(sum(requests), 0) AS month
       FROM api_keys LEFT JOIN key_days ON key_id = id AND day >= ? AND day < ?
       WHERE account_id = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)
       GROUP BY api_keys.rowid ORDER BY api_keys.rowid`,
      minute.startsAt,
      day.startsAt,
      month.startsAt,
      month.endsAt,
      accountId,
      now,
    )
    .map((row) => ({
      id: row.id,
      name: row.name,
      permissions: JSON.parse(row.permissions),
      created_at: new Date(row.created_at).toISOString(),
      expires_at: isoTime(row.expires_at),
      replaced_by: row.replaced_by ?? undefined,
      last_used_at: isoTime(row.used_at),
      requests: { minute: row.minute, day: row.day, month: row.month },
      history: keyHistory(db, row.id),
      recent_refusals: keyRefusals(db, row.id, now),
    }));
}

function keyHistory(db: Database, keyId: string): KeyDay[] {
  return db
    .all<{ day: number; requests: number; refused: number; links: number }>(
      `SELECT day, requests, refused, links FROM key_days
       WHERE key_id = ? ORDER BY day DESC LIMIT ${USAGE_HISTORY_DAYS}`,
      keyId,
    )
    .reverse()
    .map(({ day, ...counts }) => ({ date: dateOf(day), ...counts }));
}

function keyRefusals(db: Database, keyId: string, now: number): KeyRefusal[] {
  return db
    .all<{ minute: number; reason: string; count: number }>(
      `SELECT minute, reason, count FROM key_refusals
       WHERE key_id = ? AND minute >= ? ORDER BY minute DESC, reason LIMIT ${USAGE_REFUSALS}`,
      keyId,
      now - REFUSAL_RETENTION_MS,
    )
    .map(({ minute, ...refusal }) => ({ minute: new Date(minute).toISOString(), ...refusal }));
}

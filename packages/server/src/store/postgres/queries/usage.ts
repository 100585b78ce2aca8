import type { KeyDay, KeyRefusal, KeyUsage, Usage, WindowUsage } from '@shortlink/sdk/wire';
import { requestLimit } from '../../../domain/limits.ts';
import { dateOf, type WindowName, windowsAt } from '../../../domain/windows.ts';
import { isoTime } from '../../operator-store.ts';
import { REFUSAL_RETENTION_MS, USAGE_HISTORY_DAYS, USAGE_REFUSALS } from '../../retention.ts';
import { StoreError } from '../../store-error.ts';
import type { Session } from '../session.ts';
import { findAccount } from './accounts.ts';

/** Run it in a snapshot: the parts are of the same moment. */
export async function usage(session: Session, accountId: string, now: number): Promise<Usage> {
  const account = await findAccount(session, accountId);
  if (account === undefined) throw new StoreError('internal', `There is no account ${accountId}.`);
  const { plan, limits } = account;
  const windows = windowsAt(now);
  const used = await requestsUsed(session, accountId, windows);
  const [minute, day, month] = windows;
  const windowUsage = ({ name, endsAt }: (typeof windows)[number]): WindowUsage => ({
    used: used[name],
    limit: requestLimit(limits, name),
    resets_at: new Date(endsAt).toISOString(),
  });
  const keys = await keyUsages(session, accountId, now);
  return {
    plan,
    requests: { minute: windowUsage(minute), day: windowUsage(day), month: windowUsage(month) },
    links: { used: await linksUsed(session, accountId), limit: limits.links },
    api_keys: {
      used: keys.filter((key) => key.replaced_by === undefined).length,
      limit: limits.api_keys,
    },
    batch_size: limits.batch_size,
    keys,
  };
}

async function requestsUsed(
  session: Session,
  accountId: string,
  [minute, day, month]: ReturnType<typeof windowsAt>,
): Promise<Record<WindowName, number>> {
  const used = { minute: 0, day: 0, month: 0 };
  const rows = await session.all<{ period: WindowName; used: number }>(
    `SELECT period, used FROM request_counters
     WHERE account_id = $1 AND (period, starts_at) IN (('minute', $2), ('day', $3), ('month', $4))`,
    accountId,
    minute.startsAt,
    day.startsAt,
    month.startsAt,
  );
  for (const row of rows) used[row.period] = row.used;
  return used;
}

async function linksUsed(session: Session, accountId: string): Promise<number> {
  const row = await session.get<{ used: number }>(
    'SELECT used FROM link_totals WHERE account_id = $1',
    accountId,
  );
  return row?.used ?? 0;
}

/** The account's keys that are not revoked, oldest first. */
async function keyUsages(session: Session, accountId: string, now: number): Promise<KeyUsage[]> {
  const [minute, day, month] = windowsAt(now);
  const rows = await session.all<{
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
    `SELECT id, name, permissions, created_at, expires_at, replaced_by,
       (SELECT used_at FROM key_uses WHERE key_uses.key_id = id) AS used_at,
       coalesce(sum(minute_requests) FILTER (WHERE minute = $2), 0)::bigint AS minute,
       coalesce(sum(requests) FILTER (WHERE day = $3), 0)::bigint AS day,
       coalesce(sum(requests), 0)::bigint AS month
     FROM api_keys LEFT JOIN key_requests ON key_id = id AND day >= $4 AND day < $5
     WHERE account_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $6)
     GROUP BY id ORDER BY position`,
    accountId,
    minute.startsAt,
    day.startsAt,
    month.startsAt,
    month.endsAt,
    now,
  );
  const ids = rows.map((row) => row.id);
  const histories = await keyHistories(session, ids);
  const refusals = await keyRefusals(session, ids, now);
  return rows.map((row) => ({
    id: row.id,
    name: row.name,
    permissions: JSON.parse(row.permissions),
    created_at: new Date(row.created_at).toISOString(),
    expires_at: isoTime(row.expires_at),
    replaced_by: row.replaced_by ?? undefined,
    last_used_at: isoTime(row.used_at),
    requests: { minute: row.minute, day: row.day, month: row.month },
    history: histories.get(row.id) ?? [],
    recent_refusals: refusals.get(row.id) ?? [],
  }));
}

/** The last days of use of each key, oldest first. */
async function keyHistories(
  session: Session,
  keyIds: readonly string[],
): Promise<Map<string, KeyDay[]>> {
  const rows = await session.all<{
    key_id: string;
    day: number;
    requests: number;
    refused: number;
    links: number;
  }>(
    `SELECT key_id, day, requests, refused, links FROM unnest($1::text[]) AS wanted (id), LATERAL (
       SELECT key_id, day, coalesce(requests, 0) AS requests,
         coalesce(key_requests.refused, 0) + coalesce(key_links.refused, 0) AS refused, coalesce(links, 0) AS links
       FROM (SELECT * FROM key_requests WHERE key_id = wanted.id) AS key_requests
         FULL JOIN (SELECT * FROM key_links WHERE key_id = wanted.id) AS key_links USING (key_id, day)
       ORDER BY day DESC LIMIT ${USAGE_HISTORY_DAYS}) AS history
     ORDER BY day`,
    keyIds,
  );
  return groupByKey(rows, ({ day, ...counts }) => ({ date: dateOf(day), ...counts }));
}

/** The last refusals of each key by a limit, newest first. */
async function keyRefusals(
  session: Session,
  keyIds: readonly string[],
  now: number,
): Promise<Map<string, KeyRefusal[]>> {
  const rows = await session.all<{ key_id: string; minute: number; reason: string; count: number }>(
    `SELECT key_id, minute, reason, count FROM unnest($1::text[]) AS wanted (id), LATERAL (
       SELECT key_id, minute, reason, count FROM key_refusals
       WHERE key_id = wanted.id AND minute >= $2 ORDER BY minute DESC, reason LIMIT ${USAGE_REFUSALS}) AS refusals
     ORDER BY minute DESC, reason`,
    keyIds,
    now - REFUSAL_RETENTION_MS,
  );
  return groupByKey(rows, ({ minute, ...refusal }) => ({
    minute: new Date(minute).toISOString(),
    ...refusal,
  }));
}

function groupByKey<R extends { key_id: string }, T>(
  rows: readonly R[],
  show: (row: Omit<R, 'key_id'>) => T,
): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const { key_id, ...row } of rows) {
    const group = groups.get(key_id) ?? [];
    group.push(show(row));
    groups.set(key_id, group);
  }
  return groups;
}

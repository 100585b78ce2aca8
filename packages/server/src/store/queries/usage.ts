import type { KeyDay, KeyRefusal, KeyUsage, Usage, WindowUsage } from '@shortlink/sdk/wire';
import { requestLimit, type WindowName, windowsAt } from '../../domain/limits.ts';
import type { ReadEngine } from '../engine.ts';
import { REFUSAL_RETENTION_MS } from '../retention.ts';
import { StoreError } from '../store-error.ts';
import { accountReads, isoTime, type KeyRow, toKey } from './accounts.ts';
import { mostClicked } from './links.ts';
import { type Reading, rowOf, rowsOf, type Statement, sql, sqlText } from './reading.ts';

/** What a response shows of each key, and of the account. */
const USAGE_REFUSALS = 20;
const USAGE_HISTORY_DAYS = 30;
const ACCOUNT_HISTORY_DAYS = 90;

/** Run it in a snapshot: the parts are of the same moment. */
export function* usage(engine: ReadEngine, accountId: string, now: number): Reading<Usage> {
  const account = yield* accountReads.findAccount(engine, accountId);
  if (account === undefined) throw new StoreError('internal', `There is no account ${accountId}.`);
  const { name, plan, limits } = account;
  const windows = windowsAt(now);
  const [minute, day, month] = windows;
  const used = yield* rowsOf<{ period: WindowName; used: number }>(sql`
    SELECT period, used FROM request_windows WHERE account_id = ${accountId} AND (
      (period = 'minute' AND starts_at = ${minute.startsAt}) OR (period = 'day' AND starts_at = ${day.startsAt})
      OR (period = 'month' AND starts_at = ${month.startsAt}))`);
  const windowUsage = (window: (typeof windows)[number]): WindowUsage => ({
    used: used.find(({ period }) => period === window.name)?.used ?? 0,
    limit: requestLimit(limits, window.name),
    resets_at: new Date(window.endsAt).toISOString(),
  });
  const total = yield* rowOf<{ used: number }>(sql`
    SELECT used FROM link_totals WHERE account_id = ${accountId}`);
  const keys = yield* keyUsages(accountId, now);
  return {
    account_name: name,
    plan,
    requests: { minute: windowUsage(minute), day: windowUsage(day), month: windowUsage(month) },
    links: { used: total?.used ?? 0, limit: limits.links },
    api_keys: {
      used: keys.filter((key) => key.replaced_by === undefined).length,
      limit: limits.api_keys,
    },
    batch_size: limits.batch_size,
    history: yield* accountHistory(accountId),
    top_links: yield* mostClicked(engine, accountId),
    keys,
  };
}

function* keyUsages(accountId: string, now: number): Reading<KeyUsage[]> {
  const [minute, day, month] = windowsAt(now);
  const rows = yield* rowsOf<
    KeyRow & { created_at: number; minute: number; day: number; month: number }
  >(sql`
    SELECT api_keys.id, name, permissions, created_at, expires_at, replaced_by,
      (SELECT used_at FROM key_uses WHERE key_uses.key_id = api_keys.id) AS used_at,
      CAST(coalesce(sum(minute_requests) FILTER (WHERE minute = ${minute.startsAt}), 0) AS bigint) AS minute,
      CAST(coalesce(sum(requests) FILTER (WHERE day = ${day.startsAt}), 0) AS bigint) AS day,
      CAST(coalesce(sum(requests), 0) AS bigint) AS month
    FROM api_keys LEFT JOIN key_days
      ON key_id = api_keys.id AND day >= ${month.startsAt} AND day < ${month.endsAt}
    WHERE account_id = ${accountId} AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ${now})
    GROUP BY api_keys.id ORDER BY min(api_keys.rowid)`);
  const histories = yield* keyHistories(accountId);
  const refusals = yield* keyRefusals(accountId, now);
  return rows.map(({ created_at, minute, day, month, ...row }) => ({
    ...toKey(row),
    created_at: new Date(created_at).toISOString(),
    requests: { minute, day, month },
    history: (histories.get(row.id) ?? []).map(toDay),
    recent_refusals: (refusals.get(row.id) ?? [])
      .slice(0, USAGE_REFUSALS)
      .map(({ minute, reason, count }) => ({ minute: isoTime(minute) ?? '', reason, count })),
  }));
}

type DayRow = Omit<KeyDay, 'date'> & { day: number };

function toDay({ day, requests, refused, links }: DayRow): KeyDay {
  return { date: new Date(day).toISOString().slice(0, 10), requests, refused, links };
}

/**
 * The last `count` days of the keys for which the condition holds, in parts to be added. The first days are found before the others are read:
 * PostgreSQL may otherwise look for them again for each row.
 */
function keyDays(keys: Statement, count: number): Statement {
  return sql`
    WITH chosen AS MATERIALIZED (
      SELECT id, (SELECT min(day) FROM (
        SELECT DISTINCT day FROM key_days WHERE key_id = api_keys.id ORDER BY day DESC LIMIT ${count}) AS newest) AS first_day
      FROM api_keys WHERE ${keys})
    SELECT key_id, day, requests, refused, links FROM chosen JOIN key_days ON key_id = id AND day >= first_day`;
}

const SUMS = sqlText(`
  CAST(sum(requests) AS bigint) AS requests, CAST(sum(refused) AS bigint) AS refused, CAST(sum(links) AS bigint) AS links`);

/** The last days of use of the account, oldest first. Revoked keys are among those that used it. */
function* accountHistory(accountId: string): Reading<KeyDay[]> {
  const rows = yield* rowsOf<DayRow>(sql`
    SELECT day, ${SUMS} FROM (${keyDays(sql`account_id = ${accountId}`, ACCOUNT_HISTORY_DAYS)}) AS parts
    GROUP BY day ORDER BY day DESC LIMIT ${ACCOUNT_HISTORY_DAYS}`);
  return rows.toReversed().map(toDay);
}

function* keyHistories(accountId: string) {
  const keys = sql`account_id = ${accountId} AND revoked_at IS NULL`;
  const rows = yield* rowsOf<DayRow & { key_id: string }>(sql`
    SELECT key_id, day, ${SUMS} FROM (${keyDays(keys, USAGE_HISTORY_DAYS)}) AS parts
    GROUP BY key_id, day ORDER BY day`);
  return Map.groupBy(rows, ({ key_id }) => key_id);
}

/** The last refusals of each key by a limit, newest first: {@link USAGE_REFUSALS}, and others of the same minute as the last. */
function* keyRefusals(accountId: string, now: number) {
  const rows = yield* rowsOf<Omit<KeyRefusal, 'minute'> & { key_id: string; minute: number }>(sql`
    SELECT key_id, minute, reason, count FROM api_keys JOIN key_refusals ON key_id = api_keys.id
    WHERE account_id = ${accountId} AND revoked_at IS NULL AND minute >= (SELECT min(minute) FROM (
      SELECT minute FROM key_refusals AS newest
      WHERE newest.key_id = api_keys.id AND minute >= ${now - REFUSAL_RETENTION_MS}
      ORDER BY minute DESC LIMIT ${USAGE_REFUSALS}) AS newest)
    ORDER BY minute DESC, reason`);
  return Map.groupBy(rows, ({ key_id }) => key_id);
}

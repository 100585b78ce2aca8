import { startOfDay, startOfMonth, type WindowName } from '../domain/limits.ts';
import { type Statement, sql, sqlText } from './queries/reading.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/** An idempotency key is remembered this long; after it, the same key creates again. */
export const IDEMPOTENCY_RETENTION_MS = 24 * HOUR_MS;

/**
 * A completed job can be polled this long; then it and its results are deleted and the response to a poll is 404. The links stay.
 * A week, so that a client that was down over a weekend still gets its results.
 */
const JOB_RETENTION_MS = 7 * DAY_MS;

/** Counters of request windows are kept this long after their window ended, so that clocks that differ a little still agree. */
const COUNTER_RETENTION_MS = DAY_MS;

/** Daily history of a key: a year and some, so that a month can be compared with the same month a year before. */
const KEY_HISTORY_RETENTION_MS = 400 * DAY_MS;

/** Refusals are remembered minute by minute for a week, to look into what just went wrong; the daily history keeps their number. */
export const REFUSAL_RETENTION_MS = 7 * DAY_MS;

/** A write of clicks can be repeated this long (see `Store.addClicks`): longer than a database stays away from a process that waits for it. */
const CLICK_WRITE_RETENTION_MS = 7 * DAY_MS;

/** Most clicked links that a usage response shows (see `Usage.top_links`). */
export const TOP_LINKS = 10;

/** Most clicked links that are kept for an account: some more than are shown, since their order changes between two rankings. */
export const TOP_LINKS_KEPT = 20;

/**
 * Links that are ranked with one write of clicks, the first of it: a few milliseconds, however many links are clicked. The more often a
 * link is clicked, the likelier it is among the first, so the most clicked ones are seen soon.
 */
export const RANKED_TOGETHER = 50;

/** Refusals that a usage response shows of each key (see `KeyUsage.recent_refusals`). */
export const USAGE_REFUSALS = 20;

/** Days of history that a usage response shows (see `KeyUsage.history`). */
export const USAGE_HISTORY_DAYS = 30;

/** Days of the account's history that a usage response shows (see `Usage.history`). */
export const ACCOUNT_HISTORY_DAYS = 90;

/** Rows of a table that are past their retention. */
export interface ExpiredRows {
  table: string;
  /** The columns that tell the rows apart. */
  key: string;
  condition: Statement;
}

/**
 * What can be deleted, apart for each kind of window, so that an index on kind and time is used. Jobs have rows in two tables: see
 * {@link expiredJobs}.
 *
 * @param names - What the engine calls its tables of daily history, and the column of the kind of a window.
 */
export function expiredRows(
  now: number,
  { daily, window }: { daily: readonly string[]; window: string },
): ExpiredRows[] {
  const aged = now - COUNTER_RETENTION_MS;
  const day = sql`day < ${startOfDay(now - KEY_HISTORY_RETENTION_MS)}`;
  const rows = (table: string, key: string, condition: Statement) => ({ table, key, condition });
  const counters = (name: WindowName, start: number) => {
    const condition = sql`${sqlText(window)} = ${name} AND starts_at < ${start}`;
    return rows('request_counters', `account_id, ${window}, starts_at`, condition);
  };
  const idempotent = sql`created_at <= ${now - IDEMPOTENCY_RETENTION_MS}`;
  const refused = sql`minute < ${now - REFUSAL_RETENTION_MS}`;
  const written = sql`written_at < ${now - CLICK_WRITE_RETENTION_MS}`;
  return [
    counters('minute', aged),
    counters('day', startOfDay(aged)),
    counters('month', startOfMonth(aged)),
    ...daily.map((table) => rows(table, 'key_id, day', day)),
    rows('idempotency_records', 'account_id, key', idempotent),
    rows('key_refusals', 'key_id, minute, reason', refused),
    rows('click_writes', 'writer', written),
  ];
}

/** The condition of jobs that can be deleted, with their chunks. */
export function expiredJobs(now: number): Statement {
  return sql`completed_at <= ${now - JOB_RETENTION_MS}`;
}

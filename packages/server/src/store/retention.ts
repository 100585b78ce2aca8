import { startOfDay, startOfMonth, type WindowName } from '../domain/limits.ts';
import type { Engine } from './engine.ts';
import { rowsOf, type Statement, sql, sqlText, type Writing } from './queries/reading.ts';

const DAY_MS = 86_400_000;

/** An idempotency key is remembered this long; after it, the same key creates again. */
export const IDEMPOTENCY_RETENTION_MS = DAY_MS;

/** A completed job and its results are kept for a week, so that a client that was down over a weekend still gets them. The links stay. */
const JOB_RETENTION_MS = 7 * DAY_MS;

/** Counters of request windows are kept this long after their window ended, so that clocks that differ a little still agree. */
const COUNTER_RETENTION_MS = DAY_MS;

/** Daily history of a key: a year and some, so that a month can be compared with the same month a year before. */
const KEY_HISTORY_RETENTION_MS = 400 * DAY_MS;

/** Refusals are remembered minute by minute for a week, to look into what just went wrong; the daily history keeps their number. */
export const REFUSAL_RETENTION_MS = 7 * DAY_MS;

/** A write of clicks can be repeated this long (see `Store.addClicks`): longer than a database stays away from a process that waits for it. */
const CLICK_WRITE_RETENTION_MS = 7 * DAY_MS;

/** Rows one step deletes, so that requests wait for some milliseconds at most. A job has up to 20 chunks of some 100 KB, so fewer of them make a step. */
const STEP_ROWS = 1_000;
const STEP_JOBS = 20;

/**
 * Deletes what is past its retention, a step for each kind of rows. A step returns `true` when there is more. Kinds of windows are apart, so that an
 * index on kind and time is used. The rows of `click_writes` come last, because on PostgreSQL each step before them writes one.
 */
export function pruneSteps(now: number, engine: Engine): (() => Writing<boolean>)[] {
  const aged = now - COUNTER_RETENTION_MS;
  const day = sql`day < ${startOfDay(now - KEY_HISTORY_RETENTION_MS)}`;
  const rows = (table: string, key: string, condition: Statement) =>
    function* (): Writing<boolean> {
      const [from, id] = [sqlText(table), sqlText(key)];
      const deleted = yield* rowsOf(sql`
        DELETE FROM ${from} WHERE (${id}) IN (
          SELECT ${id} FROM ${from} WHERE ${condition} LIMIT ${STEP_ROWS} ${engine.unlessLocked})
        RETURNING 1 AS deleted`);
      return deleted.length === STEP_ROWS;
    };
  const counters = (name: WindowName, start: number) => {
    const condition = sql`period = ${name} AND starts_at < ${start}`;
    return rows('request_counters', 'account_id, period, starts_at', condition);
  };
  const forgotten = sql`created_at <= ${now - IDEMPOTENCY_RETENTION_MS}`;
  return [
    () => deleteJobs(now, engine),
    counters('minute', aged),
    counters('day', startOfDay(aged)),
    counters('month', startOfMonth(aged)),
    ...engine.dailyTables.map((table) => rows(table, 'key_id, day', day)),
    rows('idempotency_records', 'account_id, key', forgotten),
    rows('key_refusals', 'key_id, minute, reason', sql`minute < ${now - REFUSAL_RETENTION_MS}`),
    rows('click_writes', 'writer', sql`written_at < ${now - CLICK_WRITE_RETENTION_MS}`),
  ];
}

function* deleteJobs(now: number, { unlessLocked }: Engine): Writing<boolean> {
  const jobs = yield* rowsOf<{ id: string }>(sql`
    SELECT id FROM jobs WHERE completed_at <= ${now - JOB_RETENTION_MS} LIMIT ${STEP_JOBS} ${unlessLocked}`);
  for (const { id } of jobs) {
    yield* rowsOf(sql`DELETE FROM job_chunks WHERE job_id = ${id}`);
    yield* rowsOf(sql`DELETE FROM jobs WHERE id = ${id}`);
  }
  return jobs.length === STEP_JOBS;
}

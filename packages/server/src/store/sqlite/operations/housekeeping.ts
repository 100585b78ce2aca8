import { startOfDay, startOfMonth } from '../../../domain/limits.ts';
import {
  CLICK_WRITE_RETENTION_MS,
  COUNTER_RETENTION_MS,
  IDEMPOTENCY_RETENTION_MS,
  JOB_RETENTION_MS,
  KEY_HISTORY_RETENTION_MS,
  REFUSAL_RETENTION_MS,
} from '../../retention.ts';
import type { Operation } from './operations.ts';

/** Rows one step deletes of each kind, so that requests wait for some milliseconds at most. */
const STEP_ROWS = 1_000;
/** A job has up to 20 chunks of some 100 KB, so fewer of them make a step. */
const STEP_JOBS = 20;

export const pruneSome: Operation<'pruneSome'> = ({ db }, now) => {
  const deleteWhere = (table: string, key: string, condition: string, ...values: number[]) =>
    db.run(
      `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE ${condition} LIMIT ${STEP_ROWS})`,
      ...values,
    );
  const expiredJobs = db.all<{ id: string }>(
    `SELECT id FROM jobs WHERE completed_at <= ? LIMIT ${STEP_JOBS}`,
    now - JOB_RETENTION_MS,
  );
  for (const { id } of expiredJobs) {
    db.run('DELETE FROM job_chunks WHERE job_id = ?', id);
    db.run('DELETE FROM jobs WHERE id = ?', id);
  }
  const aged = now - COUNTER_RETENTION_MS;
  const deleted = [
    deleteWhere('idempotency_records', 'rowid', 'created_at <= ?', now - IDEMPOTENCY_RETENTION_MS),
    deleteWhere(
      'request_counters',
      'account_id, window, starts_at',
      `(window = 'minute' AND starts_at < ?) OR (window = 'day' AND starts_at < ?) OR (window = 'month' AND starts_at < ?)`,
      aged,
      startOfDay(aged),
      startOfMonth(aged),
    ),
    deleteWhere('key_days', 'key_id, day', 'day < ?', startOfDay(now - KEY_HISTORY_RETENTION_MS)),
    deleteWhere('key_refusals', 'key_id, minute, reason', 'minute < ?', now - REFUSAL_RETENTION_MS),
    deleteWhere('click_writes', 'writer', 'written_at < ?', now - CLICK_WRITE_RETENTION_MS),
  ];
  return { done: !deleted.includes(STEP_ROWS) && expiredJobs.length < STEP_JOBS };
};

/** SQLite writes no page for a row that stays the same, but it does for this number, which nobody uses. */
export const probe: Operation<'probe'> = ({ db }) => {
  db.exec('PRAGMA user_version = 0');
};

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
  const records = db.run(
    `DELETE FROM idempotency_records WHERE rowid IN
       (SELECT rowid FROM idempotency_records WHERE created_at <= ? LIMIT ${STEP_ROWS})`,
    now - IDEMPOTENCY_RETENTION_MS,
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
  const counters = db.run(
    `DELETE FROM request_counters WHERE (account_id, window, starts_at) IN
       (SELECT account_id, window, starts_at FROM request_counters
        WHERE (window = 'minute' AND starts_at < ?) OR (window = 'day' AND starts_at < ?)
          OR (window = 'month' AND starts_at < ?)
        LIMIT ${STEP_ROWS})`,
    aged,
    startOfDay(aged),
    startOfMonth(aged),
  );

  const days = db.run(
    `DELETE FROM key_days WHERE (key_id, day) IN
       (SELECT key_id, day FROM key_days WHERE day < ? LIMIT ${STEP_ROWS})`,
    startOfDay(now - KEY_HISTORY_RETENTION_MS),
  );

  const refusals = db.run(
    `DELETE FROM key_refusals WHERE (key_id, minute, reason) IN
       (SELECT key_id, minute, reason FROM key_refusals WHERE minute < ? LIMIT ${STEP_ROWS})`,
    now - REFUSAL_RETENTION_MS,
  );

  const clickWrites = db.run(
    `DELETE FROM click_writes WHERE writer IN
       (SELECT writer FROM click_writes WHERE written_at < ? LIMIT ${STEP_ROWS})`,
    now - CLICK_WRITE_RETENTION_MS,
  );

  const more =
    [records, counters, days, refusals, clickWrites].includes(STEP_ROWS) ||
    expiredJobs.length === STEP_JOBS;
  return { done: !more };
};

export const probe: Operation<'probe'> = ({ db }) => {
  db.run('UPDATE schema_migrations SET applied_at = applied_at WHERE version = 1');
};

import { startOfDay, startOfMonth } from '../../../domain/limits.ts';
import {
  CLICK_WRITE_RETENTION_MS,
  COUNTER_RETENTION_MS,
  IDEMPOTENCY_RETENTION_MS,
  JOB_RETENTION_MS,
  KEY_HISTORY_RETENTION_MS,
  REFUSAL_RETENTION_MS,
} from '../../retention.ts';
import type { Session } from '../session.ts';

/** Rows of one step, so that no step holds many locks for long. */
const STEP_ROWS = 1_000;

/** Jobs of one step: each has up to 20 chunks of results. */
const STEP_JOBS = 20;

/** Deletes some of what is past its retention; true when there is more. Rows that another instance deletes are passed over. */
export type PruneStep = (session: Session, now: number) => Promise<boolean>;

/** Each table has its own step: run it until it answers false. */
export const PRUNE_STEPS: readonly PruneStep[] = [
  (session, now) =>
    deleteSome(session, 'idempotency_records', 'created_at', now - IDEMPOTENCY_RETENTION_MS + 1),
  deleteJobs,
  (session, now) => deleteCounters(session, 'minute', now - COUNTER_RETENTION_MS),
  (session, now) => deleteCounters(session, 'day', startOfDay(now - COUNTER_RETENTION_MS)),
  (session, now) => deleteCounters(session, 'month', startOfMonth(now - COUNTER_RETENTION_MS)),
  (session, now) => deleteSome(session, 'key_requests', 'day', oldestDay(now)),
  (session, now) => deleteSome(session, 'key_links', 'day', oldestDay(now)),
  (session, now) => deleteSome(session, 'key_refusals', 'minute', now - REFUSAL_RETENTION_MS),
  (session, now) =>
    deleteSome(session, 'click_writes', 'written_at', now - CLICK_WRITE_RETENTION_MS),
];

function oldestDay(now: number): number {
  return startOfDay(now - KEY_HISTORY_RETENTION_MS);
}

async function deleteSome(
  session: Session,
  table: 'idempotency_records' | 'key_requests' | 'key_links' | 'key_refusals' | 'click_writes',
  column: 'created_at' | 'day' | 'minute' | 'written_at',
  before: number,
): Promise<boolean> {
  const deleted = await session.run(
    `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM ${table} WHERE ${column} < $1 LIMIT ${STEP_ROWS} FOR UPDATE SKIP LOCKED))`,
    before,
  );
  return deleted === STEP_ROWS;
}

async function deleteCounters(session: Session, period: string, before: number): Promise<boolean> {
  const deleted = await session.run(
    `DELETE FROM request_counters WHERE ctid = ANY (ARRAY(
       SELECT ctid FROM request_counters WHERE period = $1 AND starts_at < $2
       LIMIT ${STEP_ROWS} FOR UPDATE SKIP LOCKED))`,
    period,
    before,
  );
  return deleted === STEP_ROWS;
}

async function deleteJobs(session: Session, now: number): Promise<boolean> {
  const jobs = await session.all<{ id: string }>(
    `SELECT id FROM jobs WHERE completed_at <= $1 LIMIT ${STEP_JOBS} FOR UPDATE SKIP LOCKED`,
    now - JOB_RETENTION_MS,
  );
  const ids = jobs.map((job) => job.id);
  await session.run('DELETE FROM job_chunks WHERE job_id = ANY($1::text[])', ids);
  await session.run('DELETE FROM jobs WHERE id = ANY($1::text[])', ids);
  return jobs.length === STEP_JOBS;
}

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
  rowsWhere('idempotency_records', 'created_at <= $1', (now) => now - IDEMPOTENCY_RETENTION_MS),
  deleteJobs,
  rowsWhere(
    'request_counters',
    "period = 'minute' AND starts_at < $1",
    (now) => now - COUNTER_RETENTION_MS,
  ),
  rowsWhere('request_counters', "period = 'day' AND starts_at < $1", (now) =>
    startOfDay(now - COUNTER_RETENTION_MS),
  ),
  rowsWhere('request_counters', "period = 'month' AND starts_at < $1", (now) =>
    startOfMonth(now - COUNTER_RETENTION_MS),
  ),
  rowsWhere('key_requests', 'day < $1', oldestDay),
  rowsWhere('key_links', 'day < $1', oldestDay),
  rowsWhere('key_refusals', 'minute < $1', (now) => now - REFUSAL_RETENTION_MS),
  rowsWhere('click_writes', 'written_at < $1', (now) => now - CLICK_WRITE_RETENTION_MS),
];

function oldestDay(now: number): number {
  return startOfDay(now - KEY_HISTORY_RETENTION_MS);
}

function rowsWhere(table: string, condition: string, before: (now: number) => number): PruneStep {
  return async (session, now) => {
    const deleted = await session.run(
      `DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
         SELECT ctid FROM ${table} WHERE ${condition} LIMIT ${STEP_ROWS} FOR UPDATE SKIP LOCKED))`,
      before(now),
    );
    return deleted === STEP_ROWS;
  };
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

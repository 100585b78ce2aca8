import { startOfDay, startOfMonth, type WindowName } from '../../../domain/limits.ts';
import { type Statement, sql, sqlText } from '../../queries/reading.ts';
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
  rowsOf('idempotency_records', (now) => sql`created_at <= ${now - IDEMPOTENCY_RETENTION_MS}`),
  deleteJobs,
  countersOf('minute', (aged) => aged),
  countersOf('day', (aged) => startOfDay(aged)),
  countersOf('month', (aged) => startOfMonth(aged)),
  rowsOf('key_requests', isOldDay),
  rowsOf('key_links', isOldDay),
  rowsOf('key_refusals', (now) => sql`minute < ${now - REFUSAL_RETENTION_MS}`),
  rowsOf('click_writes', (now) => sql`written_at < ${now - CLICK_WRITE_RETENTION_MS}`),
];

function isOldDay(now: number): Statement {
  return sql`day < ${startOfDay(now - KEY_HISTORY_RETENTION_MS)}`;
}

/** Apart for each kind of window, so that the index on kind and time is used. */
function countersOf(period: WindowName, startOf: (aged: number) => number): PruneStep {
  return rowsOf(
    'request_counters',
    (now) => sql`period = ${period} AND starts_at < ${startOf(now - COUNTER_RETENTION_MS)}`,
  );
}

function rowsOf(name: string, isExpired: (now: number) => Statement): PruneStep {
  const table = sqlText(name);
  return async (session, now) => {
    const deleted = await session.run(sql`
      DELETE FROM ${table} WHERE ctid = ANY (ARRAY(
        SELECT ctid FROM ${table} WHERE ${isExpired(now)} LIMIT ${STEP_ROWS} FOR UPDATE SKIP LOCKED))`);
    return deleted === STEP_ROWS;
  };
}

async function deleteJobs(session: Session, now: number): Promise<boolean> {
  const jobs = await session.all<{ id: string }>(sql`
    SELECT id FROM jobs WHERE completed_at <= ${now - JOB_RETENTION_MS} LIMIT ${STEP_JOBS} FOR UPDATE SKIP LOCKED`);
  const ids = jobs.map((job) => job.id);
  await session.run(sql`DELETE FROM job_chunks WHERE job_id = ANY(${ids}::text[])`);
  await session.run(sql`DELETE FROM jobs WHERE id = ANY(${ids}::text[])`);
  return jobs.length === STEP_JOBS;
}

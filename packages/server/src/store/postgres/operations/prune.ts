import { startOfDay, startOfMonth } from '../../../domain/limits.ts';
import { sql, sqlText } from '../../queries/reading.ts';
import { type ExpiredRows, expiredJobs, expiredRows } from '../../retention.ts';
import type { Session } from '../session.ts';
import { indexLinks } from './targets.ts';

/** Rows of one step, so that no step holds many locks for long. */
const STEP_ROWS = 1_000;

/** Jobs of one step: each has up to 20 chunks of results. */
const STEP_JOBS = 20;

/** One step of the housekeeping; `true` when there is more to do. Rows that another instance works on are passed over. */
export type PruneStep = (session: Session) => Promise<boolean>;

/**
 * Numbers targets, and deletes what is past its retention, a step for each kind of rows. Each is to be run until there is no more. The rows of
 * `click_writes` come last, because each step before them writes one.
 */
export function pruneSteps(now: number): PruneStep[] {
  const tables = { daily: ['key_requests', 'key_links'], window: 'period' };
  const steps = expiredRows(now, tables).map(
    (expired): PruneStep =>
      (session) =>
        deleteRows(session, expired),
  );
  const rollUp: PruneStep = (session) => rollUpRequests(session, now);
  return [indexLinks, rollUp, (session) => deleteJobs(session, now), ...steps];
}

/** Adds the last minute of accounts that have had no request since to its windows, before those are deleted. */
async function rollUpRequests(session: Session, now: number): Promise<boolean> {
  const accounts = await session.all(sql`
    SELECT roll_up_requests(account_id, ${startOfMonth(now)}, NULL) FROM (
      SELECT DISTINCT account_id FROM request_minutes WHERE minute < ${startOfDay(now)}
      ORDER BY account_id LIMIT ${STEP_ROWS}) AS idle`);
  return accounts.length === STEP_ROWS;
}

async function deleteRows(session: Session, { table, condition }: ExpiredRows): Promise<boolean> {
  const deleted = await session.run(sql`
    DELETE FROM ${sqlText(table)} WHERE ctid = ANY (ARRAY(
      SELECT ctid FROM ${sqlText(table)} WHERE ${condition} LIMIT ${STEP_ROWS} FOR UPDATE SKIP LOCKED))`);
  return deleted === STEP_ROWS;
}

async function deleteJobs(session: Session, now: number): Promise<boolean> {
  const jobs = await session.all<{ id: string }>(sql`
    SELECT id FROM jobs WHERE ${expiredJobs(now)} LIMIT ${STEP_JOBS} FOR UPDATE SKIP LOCKED`);
  const ids = jobs.map((job) => job.id);
  await session.run(sql`DELETE FROM job_chunks WHERE job_id = ANY(${ids}::text[])`);
  await session.run(sql`DELETE FROM jobs WHERE id = ANY(${ids}::text[])`);
  return jobs.length === STEP_JOBS;
}

import { type Statement, sql, sqlText } from '../../queries/reading.ts';
import { expiredJobs, expiredRows } from '../../retention.ts';
import type { Operation } from './operations.ts';
import { indexLinks } from './targets.ts';

/** Rows one step deletes of each kind, so that requests wait for some milliseconds at most. */
const STEP_ROWS = 1_000;
/** A job has up to 20 chunks of some 100 KB, so fewer of them make a step. */
const STEP_JOBS = 20;

export const pruneSome: Operation<'pruneSome'> = (context, now) => {
  const { db } = context;
  const deleteSome = (table: string, key: string, condition: Statement) =>
    db.run(sql`
      DELETE FROM ${sqlText(table)} WHERE (${sqlText(key)}) IN (
        SELECT ${sqlText(key)} FROM ${sqlText(table)} WHERE ${condition} LIMIT ${STEP_ROWS})`);
  const jobs = db.all<{ id: string }>(sql`
    SELECT id FROM jobs WHERE ${expiredJobs(now)} LIMIT ${STEP_JOBS}`);
  for (const { id } of jobs) {
    db.run(sql`DELETE FROM job_chunks WHERE job_id = ${id}`);
    db.run(sql`DELETE FROM jobs WHERE id = ${id}`);
  }
  const deleted = expiredRows(now, { daily: ['key_days'], window: 'window' }).map(
    ({ table, key, condition }) => deleteSome(table, key, condition),
  );
  const { done } = indexLinks(context);
  return { done: done && !deleted.includes(STEP_ROWS) && jobs.length < STEP_JOBS };
};

/** SQLite writes no page for a row that stays the same, but it does for this number, which nobody uses. */
export const probe: Operation<'probe'> = ({ db }) => {
  db.exec('PRAGMA user_version = 0');
};

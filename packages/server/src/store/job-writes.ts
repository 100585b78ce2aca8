import type { BatchResultItem } from '@shortlink/sdk/wire';
import { newUuid } from '../domain/ids.ts';
import { rowOf, rowsOf, type Statement, sql, sqlText, type Writing } from './queries/reading.ts';
import type { AcceptedJob, JobInput, JobProgress, NewLink } from './store.ts';
import { StoreError } from './store-error.ts';

// The writes of jobs, in SQL that both engines run. Each runs in one transaction, and links are inserted between them.

/** Stores a job. Its row is its entry in the queue: an accepted job is a queued one. */
export function* insertJob(
  accountId: string,
  { total, chunks }: JobInput,
  now: number,
): Writing<AcceptedJob> {
  const job_id = newUuid();
  yield* rowsOf(sql`
    INSERT INTO jobs (id, account_id, total, created_at) VALUES (${job_id}, ${accountId}, ${total}, ${now})`);
  const rows = chunks.map((inputs, chunk): Statement => sql`(${job_id}, ${chunk}, ${inputs})`);
  const all = rows.reduce((before, row) => sql`${before}, ${row}`);
  yield* rowsOf(sql`INSERT INTO job_chunks (job_id, chunk, inputs) VALUES ${all}`);
  return { job_id, total };
}

/** The links of a job that are to be created next. */
export interface JobChunk {
  jobId: string;
  accountId: string;
  chunk: number;
  inputs: readonly NewLink[];
  total: number;
  processed: number;
}

interface JobRow {
  account_id: string;
  total: number;
  processed: number;
}

/**
 * The next chunk of a job, or its progress where there is nothing to do.
 *
 * @param claim - What locks the row of the job until the end of the transaction, or passes over it while it is locked. It is the only claim to the
 * job: no chunk runs twice whoever runs it, a job is free again the moment its instance is killed, and an instance that was paused can't
 * write afterwards, since its transaction was undone meanwhile.
 */
export function* nextChunk(
  jobId: string,
  claim: Statement<never>,
): Writing<JobChunk | JobProgress> {
  const job = yield* jobRow(jobId, claim);
  if (job === undefined) {
    const locked = yield* jobRow(jobId);
    if (locked === undefined) return { created: 0, processed: 0, done: true };
    return { created: 0, processed: locked.processed, done: false, busy: true };
  }
  const { account_id: accountId, total, processed } = job;
  if (processed === total) return { created: 0, processed, done: true };
  const next = yield* rowOf<{ chunk: number; inputs: string }>(sql`
    SELECT chunk, inputs FROM job_chunks WHERE job_id = ${jobId} AND inputs IS NOT NULL ORDER BY chunk LIMIT 1`);
  if (next === undefined) {
    throw new StoreError('corrupt', `Job ${jobId} is unfinished but has no chunk left.`);
  }
  const { chunk, inputs } = next;
  return { jobId, accountId, chunk, inputs: JSON.parse(inputs), total, processed };
}

function jobRow(jobId: string, claim = sqlText('')) {
  return rowOf<JobRow>(sql`
    SELECT account_id, total, processed FROM jobs WHERE id = ${jobId} ${claim}`);
}

/** Keeps the results of a chunk whose links were created. */
export function* finishChunk(
  { jobId, chunk, total, processed: before }: JobChunk,
  results: readonly BatchResultItem[],
  now: number,
): Writing<JobProgress> {
  const json = JSON.stringify(results).slice(1, -1);
  yield* rowsOf(sql`
    UPDATE job_chunks SET inputs = NULL, results = ${json} WHERE job_id = ${jobId} AND chunk = ${chunk}`);
  const created = results.length;
  const processed = before + created;
  const done = processed === total;
  yield* rowsOf(sql`
    UPDATE jobs SET processed = ${processed}, completed_at = ${done ? now : null} WHERE id = ${jobId}`);
  return { created, processed, done };
}

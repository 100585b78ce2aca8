import type { Reads } from '../engine.ts';
import type { StoredJob } from '../store.ts';
import { rowOf, rowsOf, sql } from './reading.ts';

/** Jobs of one reading: enough for a while, however many wait. */
const MOST_PENDING = 1_000;

export const jobReads = {
  *pendingJobs() {
    const rows = yield* rowsOf<{ id: string }>(sql`
      SELECT id FROM jobs WHERE completed_at IS NULL ORDER BY created_at, id LIMIT ${MOST_PENDING}`);
    return rows.map((row) => row.id);
  },

  *unfinishedJobs(_, accountId) {
    const rows = yield* rowsOf<{ id: string }>(sql`
      SELECT id FROM jobs WHERE completed_at IS NULL AND account_id = ${accountId}`);
    return rows.map((row) => row.id);
  },

  /** One statement, so that the progress and the results are of the same moment. */
  *findJob(_, accountId, jobId) {
    type Row = Pick<StoredJob, 'total' | 'processed' | 'createdAt'> & StoredJob['results'];
    const row = yield* rowOf<Row>(sql`
      SELECT total, processed, created_at AS "createdAt", count(results) AS chunks,
        CAST(coalesce(sum(octet_length(results)), 0) AS bigint) AS bytes
      FROM jobs LEFT JOIN job_chunks ON job_id = jobs.id
      WHERE jobs.id = ${jobId} AND account_id = ${accountId} GROUP BY jobs.id, total, processed, created_at`);
    if (row === undefined) return undefined;
    const { chunks, bytes, ...job } = row;
    const { total, processed } = job;
    return {
      id: jobId,
      status: processed === total ? 'completed' : 'processing',
      ...job,
      results: { chunks, bytes: bytes + Math.max(0, chunks - 1) },
    };
  },

  *readJobResults(_, jobId, chunk) {
    const row = yield* rowOf<{ results: string }>(sql`
      SELECT results FROM job_chunks WHERE job_id = ${jobId} AND chunk = ${chunk} AND results IS NOT NULL`);
    return row && Buffer.from(row.results);
  },
} satisfies Reads;

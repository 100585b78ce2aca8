import type { StoredJob } from '../store.ts';
import { type Reading, rowsOf } from './reading.ts';

/** Jobs of one answer: enough for a while, however many wait. */
const MOST_PENDING = 1_000;

export function* pendingJobs(): Reading<string[]> {
  const rows = yield* rowsOf<{ id: string }>(
    `SELECT id FROM jobs WHERE completed_at IS NULL ORDER BY created_at, id LIMIT ${MOST_PENDING}`,
  );
  return rows.map((row) => row.id);
}

/** One statement, so that the progress and the results are of the same moment. */
export function* findJob(accountId: string, jobId: string): Reading<StoredJob | undefined> {
  const rows = yield* rowsOf<{ total: number; processed: number; results: string | null }>(
    `SELECT total, processed, results FROM jobs
       LEFT JOIN job_chunks ON job_id = id AND results IS NOT NULL
     WHERE id = ? AND account_id = ? ORDER BY chunk`,
    jobId,
    accountId,
  );
  const [job] = rows;
  if (job === undefined) return undefined;
  const { total, processed } = job;
  const results = rows.map((row) => row.results ?? '').join(',');
  return {
    id: jobId,
    status: processed === total ? 'completed' : 'processing',
    total,
    processed,
    resultsJson: Buffer.from(`[${results}]`),
  };
}

import type { StoredJob } from '../../store.ts';
import type { Database } from '../database.ts';

export function pendingJobs(db: Database): string[] {
  return db
    .all<{ id: string }>('SELECT id FROM jobs WHERE completed_at IS NULL ORDER BY rowid')
    .map((row) => row.id);
}

/** One statement, so that the progress and the results are of the same moment. */
export function findJob(db: Database, accountId: string, jobId: string): StoredJob | undefined {
  const row = db.get<{ total: number; processed: number; results: Uint8Array }>(
    `SELECT total, processed,
       (SELECT CAST('[' || coalesce(group_concat(results, ',' ORDER BY chunk), '') || ']' AS BLOB)
        FROM job_chunks WHERE job_id = jobs.id AND results IS NOT NULL) AS results
     FROM jobs WHERE id = ? AND account_id = ?`,
    jobId,
    accountId,
  );
  if (row === undefined) return undefined;
  return {
    id: jobId,
    status: row.processed === row.total ? 'completed' : 'processing',
    total: row.total,
    processed: row.processed,
    resultsJson: row.results,
  };
}

import type { StoredJob } from '../../store.ts';
import type { Session } from '../session.ts';

export async function pendingJobs(session: Session): Promise<string[]> {
  const rows = await session.all<{ id: string }>(
    'SELECT id FROM jobs WHERE completed_at IS NULL ORDER BY position',
  );
  return rows.map((row) => row.id);
}

/** One statement, so that the progress and the results are of the same moment. */
export async function findJob(
  session: Session,
  accountId: string,
  jobId: string,
): Promise<StoredJob | undefined> {
  const row = await session.get<{ total: number; processed: number; results: string | null }>(
    `SELECT total, processed,
       (SELECT string_agg(results, ',' ORDER BY chunk) FROM job_chunks
        WHERE job_id = jobs.id AND results IS NOT NULL) AS results
     FROM jobs WHERE id = $1 AND account_id = $2`,
    jobId,
    accountId,
  );
  if (row === undefined) return undefined;
  return {
    id: jobId,
    status: row.processed === row.total ? 'completed' : 'processing',
    total: row.total,
    processed: row.processed,
    resultsJson: Buffer.from(`[${row.results ?? ''}]`),
  };
}

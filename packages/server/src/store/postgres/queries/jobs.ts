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
  const row = await session.get<{
    total: number;
    processed: number;
    created_at: number;
    chunks: number;
    bytes: number;
  }>(
    `SELECT total, processed, created_at, count(results)::int AS chunks,
       coalesce(sum(octet_length(results)), 0)::float8 AS bytes
     FROM jobs LEFT JOIN job_chunks ON job_id = jobs.id
     WHERE jobs.id = $1 AND account_id = $2 GROUP BY jobs.id`,
    jobId,
    accountId,
  );
  if (row === undefined) return undefined;
  const { total, processed, chunks, bytes } = row;
  return {
    id: jobId,
    status: processed === total ? 'completed' : 'processing',
    total,
    processed,
    createdAt: row.created_at,
    results: { chunks, bytes: bytes + Math.max(0, chunks - 1) },
  };
}

export async function readJobResults(
  session: Session,
  jobId: string,
  chunk: number,
): Promise<Uint8Array | undefined> {
  const row = await session.get<{ results: string }>(
    'SELECT results FROM job_chunks WHERE job_id = $1 AND chunk = $2 AND results IS NOT NULL',
    jobId,
    chunk,
  );
  return row && Buffer.from(row.results);
}

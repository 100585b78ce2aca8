import type { StoredJob } from '../../store.ts';
import type { Database } from '../database.ts';

export function pendingJobs(db: Database): string[] {
  return db
    .all<{ id: string }>('SELECT id FROM jobs WHERE completed_at IS NULL ORDER BY rowid')
    .map((row) => row.id);
}

/** One statement, so that the progress and the results are of the same moment. */
export function findJob(db: Database, accountId: string, jobId: string): StoredJob | undefined {
  const row = db.get<{
    total: number;
    processed: number;
    created_at: number;
    chunks: number;
    bytes: number;
  }>(
    `SELECT total, processed, created_at, count(results) AS chunks,
       coalesce(sum(octet_length(results)), 0) AS bytes
     FROM jobs LEFT JOIN job_chunks ON job_id = jobs.id
     WHERE jobs.id = ? AND account_id = ? GROUP BY jobs.id`,
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

export function readJobResults(db: Database, jobId: string, chunk: number): Uint8Array | undefined {
  return db.get<{ results: Uint8Array }>(
    `SELECT CAST(results AS BLOB) AS results FROM job_chunks
     WHERE job_id = ? AND chunk = ? AND results IS NOT NULL`,
    jobId,
    chunk,
  )?.results;
}

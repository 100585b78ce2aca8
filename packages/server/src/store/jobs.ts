import { newUuid } from '../domain/ids.ts';
import type { Engine, Reads } from './engine.ts';
import { rowOf, rowsOf, sql, sqlList, sqlText, type Writing } from './queries/reading.ts';
import type { AcceptedJob, JobInput, JobProgress, StoredJob } from './store.ts';
import { StoreError } from './store-error.ts';
import { insertLinks, toResultItem } from './writes/insert-links.ts';

/** Most chunks that share a commit, which writes each page of the index once: a whole job, if nobody waits. A request waits for one chunk and the commit. */
const MOST_CHUNKS = 20;

/** Stores a job. Its row is its entry in the queue: an accepted job is a queued one. */
export function* insertJob(
  accountId: string,
  { total, chunks }: JobInput,
  now: number,
): Writing<AcceptedJob> {
  const job_id = newUuid();
  yield* rowsOf(sql`
    INSERT INTO jobs (id, account_id, total, created_at) VALUES (${job_id}, ${accountId}, ${total}, ${now})`);
  const utf8 = new TextDecoder();
  const rows = chunks.map((inputs, at) => sql`(${job_id}, ${at}, ${utf8.decode(inputs)})`);
  yield* rowsOf(sql`INSERT INTO job_chunks (job_id, chunk, inputs) VALUES ${sqlList(rows)}`);
  return { job_id, total, processed: 0 };
}

export function* runJobChunk(engine: Engine, jobId: string, now: number): Writing<JobProgress> {
  let progress = yield* runNextChunk(engine, jobId, now);
  for (let chunk = 1; chunk < MOST_CHUNKS && !progress.done && engine.isIdle(jobId); chunk += 1) {
    const { created } = progress;
    progress = yield* runNextChunk(engine, jobId, now);
    progress.created += created;
  }
  return progress;
}

/** The lock on the job's row is the only claim to it: no chunk runs twice, a killed instance frees it, and a paused one can't write afterwards. */
function* runNextChunk(engine: Engine, jobId: string, now: number): Writing<JobProgress> {
  const job = yield* jobRow(jobId, engine.unlessLocked);
  if (job === undefined) {
    const locked = yield* jobRow(jobId);
    if (locked === undefined) return { created: 0, processed: 0, done: true };
    return { created: 0, processed: locked.processed, done: false, busy: true };
  }
  const { account_id, total, processed: before } = job;
  if (before === total) return { created: 0, processed: before, done: true };
  const next = yield* rowOf<{ chunk: number; inputs: string }>(sql`
    SELECT chunk, inputs FROM job_chunks WHERE job_id = ${jobId} AND inputs IS NOT NULL ORDER BY chunk LIMIT 1`);
  if (next === undefined) {
    throw new StoreError('corrupt', `Job ${jobId} is unfinished but has no chunk left.`);
  }
  const links = yield* insertLinks(engine, account_id, JSON.parse(next.inputs), now);
  const json = JSON.stringify(links.map(toResultItem)).slice(1, -1);
  yield* rowsOf(sql`
    UPDATE job_chunks SET inputs = NULL, results = ${json} WHERE job_id = ${jobId} AND chunk = ${next.chunk}`);
  const created = links.length;
  const processed = before + created;
  const done = processed === total;
  yield* rowsOf(sql`
    UPDATE jobs SET processed = ${processed}, completed_at = ${done ? now : null} WHERE id = ${jobId}`);
  return { created, processed, done };
}

function jobRow(jobId: string, lock = sqlText('')) {
  return rowOf<{ account_id: string; total: number; processed: number }>(sql`
    SELECT account_id, total, processed FROM jobs WHERE id = ${jobId} ${lock}`);
}

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

  *readJobResults({ bytes }, jobId, chunk) {
    const row = yield* rowOf<{ results: string | Uint8Array }>(sql`
      SELECT ${bytes('results')} AS results FROM job_chunks WHERE job_id = ${jobId} AND chunk = ${chunk} AND results IS NOT NULL`);
    return typeof row?.results === 'string' ? Buffer.from(row.results) : row?.results;
  },
} satisfies Reads;

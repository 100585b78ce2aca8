import { sql } from '../../queries/reading.ts';
import type { JobProgress, NewLink } from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import { insertLinks } from './links.ts';
import type { Operation, OperationContext } from './operations.ts';

/**
 * Most chunks that share a commit: a whole job, if no other write waits. Random codes touch most pages of the index in each
 * chunk, and a shared commit writes such a page once. A request that arrives meanwhile waits for one chunk and the commit, not
 * for the rest of the job.
 */
const MOST_CHUNKS = 20;

export const runJobChunk: Operation<'runJobChunk'> = (context, jobId, now) => {
  let progress = runNextChunk(context, jobId, now);
  for (let chunk = 1; chunk < MOST_CHUNKS && !progress.done && context.isIdle(jobId); chunk += 1) {
    const { created } = progress;
    progress = runNextChunk(context, jobId, now);
    progress.created += created;
  }
  return progress;
};

function runNextChunk(context: OperationContext, jobId: string, now: number): JobProgress {
  const { db } = context;
  const job = db.get<{ account_id: string; total: number; processed: number }>(sql`
    SELECT account_id, total, processed FROM jobs WHERE id = ${jobId}`);
  if (job === undefined) return { created: 0, processed: 0, done: true };
  if (job.processed === job.total) return { created: 0, processed: job.processed, done: true };

  const next = db.get<{ chunk: number; inputs: string }>(sql`
    SELECT chunk, inputs FROM job_chunks WHERE job_id = ${jobId} AND inputs IS NOT NULL ORDER BY chunk LIMIT 1`);
  if (next === undefined) {
    throw new StoreError('corrupt', `Job ${jobId} is unfinished but has no chunk left.`);
  }
  const inputs: NewLink[] = JSON.parse(next.inputs);
  const results = insertLinks(context, job.account_id, inputs, now);
  const json = JSON.stringify(results).slice(1, -1);
  db.run(sql`
    UPDATE job_chunks SET inputs = NULL, results = ${json} WHERE job_id = ${jobId} AND chunk = ${next.chunk}`);
  const processed = job.processed + results.length;
  const done = processed === job.total;
  db.run(sql`
    UPDATE jobs SET processed = ${processed}, completed_at = ${done ? now : null} WHERE id = ${jobId}`);
  return { created: results.length, processed, done };
}

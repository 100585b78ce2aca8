import { toResultItem } from '../../links.ts';
import { sql } from '../../queries/reading.ts';
import type { JobProgress, NewLink } from '../../store.ts';
import { StoreError } from '../../store-error.ts';
import type { Session } from '../session.ts';
import { insertLinks, type LinkMaker } from './links.ts';

interface JobRow {
  account_id: string;
  total: number;
  processed: number;
}

/**
 * The lock on the job's row is the only claim to the job. It lasts until the chunk and the progress are committed, or until the
 * connection of the instance that holds it ends. So no chunk runs twice whoever runs it; a job is free again the moment its
 * instance is killed; and an instance that was paused can't write afterwards, since its transaction was undone meanwhile.
 */
export async function runJobChunk(
  maker: LinkMaker,
  session: Session,
  jobId: string,
  now: number,
): Promise<JobProgress> {
  const job = await session.get<JobRow>(sql`
    SELECT account_id, total, processed FROM jobs WHERE id = ${jobId} FOR UPDATE SKIP LOCKED`);
  if (job === undefined) return lockedOrUnknown(session, jobId);
  if (job.processed === job.total) return { created: 0, processed: job.processed, done: true };

  const next = await session.get<{ chunk: number; inputs: string }>(sql`
    SELECT chunk, inputs FROM job_chunks WHERE job_id = ${jobId} AND inputs IS NOT NULL ORDER BY chunk LIMIT 1`);
  if (next === undefined) {
    throw new StoreError('corrupt', `Job ${jobId} is unfinished but has no chunk left.`);
  }
  const inputs: NewLink[] = JSON.parse(next.inputs);
  const links = await insertLinks(maker, session, job.account_id, inputs, now);
  const results = links.map((link) => JSON.stringify(toResultItem(link))).join(',');
  await session.run(sql`
    UPDATE job_chunks SET inputs = NULL, results = ${results} WHERE job_id = ${jobId} AND chunk = ${next.chunk}`);
  const processed = job.processed + links.length;
  const done = processed === job.total;
  await session.run(sql`
    UPDATE jobs SET processed = ${processed}, completed_at = ${done ? now : null} WHERE id = ${jobId}`);
  return { created: links.length, processed, done };
}

/** Another instance holds the row, or there is none. */
async function lockedOrUnknown(session: Session, jobId: string): Promise<JobProgress> {
  const job = await session.get<JobRow>(sql`
    SELECT account_id, total, processed FROM jobs WHERE id = ${jobId}`);
  if (job === undefined) return { created: 0, processed: 0, done: true };
  return { created: 0, processed: job.processed, done: false, busy: true };
}

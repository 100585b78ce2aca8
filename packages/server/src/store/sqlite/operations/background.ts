import { finishChunk, nextChunk } from '../../job-writes.ts';
import { sqlText } from '../../queries/reading.ts';
import { pruneSteps } from '../../retention.ts';
import type { JobProgress } from '../../store.ts';
import { insertLinks } from './links.ts';
import type { Operation, OperationContext } from './operations.ts';
import { indexLinks } from './targets.ts';

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
  const next = context.db.read(nextChunk(jobId, sqlText('')));
  if ('done' in next) return next;
  const results = insertLinks(context, next.accountId, next.inputs, now);
  return context.db.read(finishChunk(next, results, now));
}

const ENGINE = { daily: ['key_days'], window: 'window', unlessLocked: sqlText('') };

export const pruneSome: Operation<'pruneSome'> = (context, now) => {
  const more = pruneSteps(now, ENGINE).map((step) => context.db.read(step()));
  const { done } = indexLinks(context);
  return { done: done && !more.includes(true) };
};

/** SQLite writes no page for a row that stays the same, but it does for this number, which nobody uses. */
export const probe: Operation<'probe'> = ({ db }) => {
  db.exec('PRAGMA user_version = 0');
};

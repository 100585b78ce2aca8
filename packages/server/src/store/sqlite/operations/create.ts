import type { PlanLimitName } from '@shortlink/sdk/wire';
import { exceeds, exceedsBatchSize, startOfDay, windowsAt } from '../../../domain/limits.ts';
import { insertJob } from '../../job-writes.ts';
import { sql } from '../../queries/reading.ts';
import { IDEMPOTENCY_RETENTION_MS } from '../../retention.ts';
import type { CreateOutcome, CreateRequest, Outcome, PlanLimitReached } from '../../store.ts';
import type { Database } from '../database.ts';
import { runJobChunk } from './background.ts';
import { add, type Counters } from './counters.ts';
import { insertLink, insertLinks } from './links.ts';
import type { Operation } from './operations.ts';

export const createLink: Operation<'createLink'> = (context, request) =>
  createIdempotently(context.db, request, () => {
    const { caller, input, now } = request;
    return (
      takeLinks(context.counters, request, 1) ?? {
        ok: true,
        value: insertLink(context, caller.accountId, input, now),
      }
    );
  });

export const createBatch: Operation<'createBatch'> = (context, request) =>
  createIdempotently(context.db, request, () => {
    const { caller, input, now } = request;
    return (
      takeBatch(context.counters, request, input.length) ?? {
        ok: true,
        value: insertLinks(context, caller.accountId, input, now),
      }
    );
  });

/** A job that runs now never has its inputs on the disk, and needs one commit. It runs only while nobody else waits. */
export const createJob: Operation<'createJob'> = (context, request) =>
  createIdempotently(context.db, request, () => {
    const { db, counters } = context;
    const { caller, input, now } = request;
    const refusal = takeBatch(counters, request, input.total);
    if (refusal !== undefined) return refusal;
    const job = db.read(insertJob(caller.accountId, input, now));
    const runsNow = request.runNow === true && context.isIdle(job.job_id);
    const processed = runsNow ? runJobChunk(context, job.job_id, now).processed : 0;
    return { ok: true, value: { ...job, processed } };
  });

/** The same as {@link takeLinks}, for a batch, which may have more links than the plan allows in one request. */
function takeBatch(
  counters: Counters,
  request: CreateRequest<unknown>,
  count: number,
): PlanLimitReached | undefined {
  const { limits } = request.caller;
  if (limits.batch_size !== null && exceedsBatchSize(limits, count)) {
    return refuse(counters, request, 'batch_size', count, limits.batch_size);
  }
  return takeLinks(counters, request, count);
}

/** Counts links in the account's total, or none of them when they don't fit the plan: then it returns the refusal. */
function takeLinks(
  counters: Counters,
  request: CreateRequest<unknown>,
  count: number,
): PlanLimitReached | undefined {
  const { caller, now } = request;
  const allowed = caller.limits.links;
  const total = counters.links(caller.accountId);
  if (allowed !== null && exceeds(allowed, total.used, count)) {
    return refuse(counters, request, 'links', total.used, allowed);
  }
  add(total, count);
  counters.keyDay(caller.keyId, startOfDay(now)).links += count;
  return undefined;
}

function refuse(
  counters: Counters,
  { caller: { keyId }, now }: CreateRequest<unknown>,
  limit: Exclude<PlanLimitName, 'api_keys'>,
  used: number,
  allowed: number,
): PlanLimitReached {
  const [minute] = windowsAt(now);
  counters.keyDay(keyId, startOfDay(now)).refused += 1;
  counters.addRefusal(keyId, minute.startsAt, limit);
  return { ok: false, reason: 'plan_limit', limit, used, allowed };
}

/**
 * Returns what an earlier request with the same idempotency key created within the retention, or runs `create` and stores its result
 * in the same step. A refusal is not stored: nothing was created, so the same request may pass later.
 */
export function createIdempotently<T>(
  db: Database,
  { caller, idempotency, now }: CreateRequest<unknown>,
  create: () => Outcome<T>,
): CreateOutcome<T> {
  if (idempotency !== undefined) {
    const earlier = db.get<{ fingerprint: string; answer: string }>(sql`
      SELECT fingerprint, answer FROM idempotency_records WHERE account_id = ${caller.accountId}
        AND key = ${idempotency.key} AND created_at > ${now - IDEMPOTENCY_RETENTION_MS}`);
    if (earlier !== undefined) {
      return earlier.fingerprint === idempotency.fingerprint
        ? { ok: true, value: JSON.parse(earlier.answer), replayed: true }
        : { ok: false, reason: 'idempotency_conflict' };
    }
  }
  const outcome = create();
  if (!outcome.ok) return outcome;
  if (idempotency !== undefined) {
    const { key, fingerprint } = idempotency;
    db.run(sql`
      INSERT INTO idempotency_records (account_id, key, fingerprint, answer, created_at)
      VALUES (${caller.accountId}, ${key}, ${fingerprint}, ${JSON.stringify(outcome.value)}, ${now})
      ON CONFLICT (account_id, key) DO UPDATE SET
        fingerprint = excluded.fingerprint, answer = excluded.answer, created_at = excluded.created_at`);
  }
  return { ok: true, value: outcome.value, replayed: false };
}

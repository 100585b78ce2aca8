import type { PlanLimitName } from '@shortlink/sdk/wire';
import { newUuid } from '../../../domain/ids.ts';
import { exceeds, exceedsBatchSize, startOfDay, windowsAt } from '../../../domain/limits.ts';
import type { CreateRequest, PlanLimitReached } from '../../store.ts';
import { add, type Counters } from './counters.ts';
import { createIdempotently } from './idempotency.ts';
import { insertLink, insertLinks, toResultItem } from './insert-links.ts';
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
        value: insertLinks(context, caller.accountId, input, now).map(toResultItem),
      }
    );
  });

export const createJob: Operation<'createJob'> = ({ db, counters }, request) =>
  createIdempotently(db, request, () => {
    const { caller, input, now } = request;
    const refusal = takeBatch(counters, request, input.total);
    if (refusal !== undefined) return refusal;
    const jobId = newUuid();
    db.run(
      'INSERT INTO jobs (id, account_id, total, created_at) VALUES (?, ?, ?, ?)',
      jobId,
      caller.accountId,
      input.total,
      now,
    );
    input.chunks.forEach((chunk, index) => {
      db.run(
        'INSERT INTO job_chunks (job_id, chunk, inputs) VALUES (?, ?, ?)',
        jobId,
        index,
        chunk,
      );
    });
    return { ok: true, value: { job_id: jobId, total: input.total } };
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

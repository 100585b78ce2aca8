import { newUuid } from '../../../domain/ids.ts';
import { createOnce } from './idempotency.ts';
import { insertLink, insertLinks, toResultItem } from './insert-links.ts';
import type { Operation } from './operations.ts';
import { refuseLargeBatch, takePlaces } from './take-places.ts';

export const createLink: Operation<'createLink'> = (context, request) =>
  createOnce(context.db, request, () => {
    const { caller, input, now } = request;
    return (
      takePlaces(context.db, caller, 1, now) ?? {
        ok: true,
        value: insertLink(context, caller.accountId, input, now),
      }
    );
  });

export const createBatch: Operation<'createBatch'> = (context, request) =>
  createOnce(context.db, request, () => {
    const { caller, input, now } = request;
    return (
      refuseLargeBatch(context.db, caller, input.length, now) ??
      takePlaces(context.db, caller, input.length, now) ?? {
        ok: true,
        value: insertLinks(context, caller.accountId, input, now).map(toResultItem),
      }
    );
  });

export const createJob: Operation<'createJob'> = ({ db }, request) =>
  createOnce(db, request, () => {
    const { caller, input, now } = request;
    const refusal =
      refuseLargeBatch(db, caller, input.total, now) ?? takePlaces(db, caller, input.total, now);
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

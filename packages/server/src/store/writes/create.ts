import type { Link } from '@shortlink/sdk/wire';
import { exceeds } from '../../domain/limits.ts';
import type { Engine, Writes } from '../engine.ts';
import { insertJob, runJobChunk } from '../jobs.ts';
import type { Writing } from '../queries/reading.ts';
import type { CreateOutcome, CreateRequest, NewLink, PlanLimitReached } from '../store.ts';
import { createIdempotently, firstOf } from './idempotency.ts';
import { createdLink, insertLinks, toResultItem } from './insert-links.ts';

/** Creates links of one account that were asked for at the same time in one transaction, with the time of the first. */
export function createLinks(
  engine: Engine,
  group: readonly CreateRequest<NewLink>[],
): Writing<CreateOutcome<Link>[]> {
  return createTogether(engine, group, 1, function* (requests) {
    const { caller, now } = firstOf(requests);
    const inputs = requests.map(({ input }) => input);
    return (yield* insertLinks(engine, caller.accountId, inputs, now)).map(createdLink);
  });
}

export const createWrites = {
  *createLink(engine, request) {
    return firstOf(yield* createLinks(engine, [request]));
  },

  *createBatch(engine, request) {
    const { caller, input, now } = request;
    const outcomes = createTogether(engine, [request], input.length, function* () {
      return [(yield* insertLinks(engine, caller.accountId, input, now)).map(toResultItem)];
    });
    return firstOf(yield* outcomes);
  },

  /** A job that runs now never has its inputs on the disk, and needs one commit. It runs only while nobody else waits. */
  *createJob(engine, request) {
    const { caller, input, now } = request;
    const outcomes = createTogether(engine, [request], input.total, function* () {
      const job = yield* insertJob(caller.accountId, input, now);
      if (request.runNow !== true || !engine.isIdle(job.job_id)) return [job];
      const { processed } = yield* runJobChunk(engine, job.job_id, now);
      return [{ ...job, processed }];
    });
    return firstOf(yield* outcomes);
  },
} satisfies Writes;

/**
 * Takes quota slots for so many `links` of each request, and creates what those ask for that got them: each gets all of its links or none. Where the
 * plan does not allow all requests, the later ones are refused, as is one of more links than it allows in a batch.
 */
function createTogether<R extends CreateRequest<unknown>, T>(
  engine: Engine,
  group: readonly R[],
  links: number,
  create: (requests: readonly R[]) => Writing<T[]>,
): Writing<CreateOutcome<T>[]> {
  return createIdempotently<T, R>(engine, group, function* (requests) {
    const { caller, now } = firstOf(requests);
    const limit = exceeds(caller.limits.batch_size, 0, links) ? 'batch_size' : 'links';
    const keys = requests.map(({ caller: { keyId } }) => keyId);
    const slots = yield* engine.takeSlots(caller, limit, keys, links, now);
    const used = limit === 'links' ? slots.used : links;
    const allowed = caller.limits[limit] ?? used;
    const refused: PlanLimitReached = { ok: false, reason: 'plan_limit', limit, used, allowed };
    const values = slots.granted === 0 ? [] : yield* create(requests.slice(0, slots.granted));
    return requests.map((_, index): CreateOutcome<T> => {
      const value = values[index];
      return value === undefined ? refused : { ok: true, value, replayed: false };
    });
  });
}

import type { Link } from '@shortlink/sdk/wire';
import { exceeds } from '../../domain/limits.ts';
import type { Engine, Writes } from '../engine.ts';
import { insertJob, runJobChunk } from '../jobs.ts';
import type { Writing } from '../queries/reading.ts';
import type { Caller, CreateOutcome, CreateRequest, NewLink, PlanLimitReached } from '../store.ts';
import { createIdempotently, firstOf } from './idempotency.ts';
import { createdLink, insertLinks, toResultItem } from './insert-links.ts';

/**
 * Creates links of one account that were asked for at the same time in one transaction, with the time of the first. Where the plan does not allow
 * all of them, the later ones are refused.
 */
export function createLinks(
  engine: Engine,
  group: readonly CreateRequest<NewLink>[],
): Writing<CreateOutcome<Link>[]> {
  return createIdempotently(engine, group, function* (requests) {
    const { caller, now } = firstOf(requests);
    const keys = requests.map(({ caller: { keyId } }) => keyId);
    const slots = yield* engine.takeSlots(caller, 'links', keys, 1, now);
    const inputs = requests.slice(0, slots.granted).map(({ input }) => input);
    const links = yield* insertLinks(engine, caller.accountId, inputs, now);
    return requests.map((_, index): CreateOutcome<Link> => {
      const link = links[index];
      return link === undefined ? noSlots(caller, 'links', slots.used) : created(createdLink(link));
    });
  });
}

export const createWrites = {
  *createLink(engine, request) {
    return firstOf(yield* createLinks(engine, [request]));
  },

  createBatch(engine, request) {
    const { caller, input, now } = request;
    return createMany(engine, request, input.length, function* () {
      return (yield* insertLinks(engine, caller.accountId, input, now)).map(toResultItem);
    });
  },

  /** A job that runs now never has its inputs on the disk, and needs one commit. It runs only while nobody else waits. */
  createJob(engine, request) {
    const { caller, input, now } = request;
    return createMany(engine, request, input.total, function* () {
      const job = yield* insertJob(caller.accountId, input, now);
      if (request.runNow !== true || !engine.isIdle(job.job_id)) return job;
      const { processed } = yield* runJobChunk(engine, job.job_id, now);
      return { ...job, processed };
    });
  },
} satisfies Writes;

/** One create of many links: all or none. It may have more links than the plan allows in one request. */
function* createMany<T>(
  engine: Engine,
  request: CreateRequest<unknown>,
  links: number,
  create: () => Writing<T>,
): Writing<CreateOutcome<T>> {
  const { caller, now } = request;
  const limit = exceeds(caller.limits.batch_size, 0, links) ? 'batch_size' : 'links';
  const outcomes = yield* createIdempotently<T, typeof request>(engine, [request], function* () {
    const slots = yield* engine.takeSlots(caller, limit, [caller.keyId], links, now);
    if (slots.granted === 1) return [created(yield* create())];
    return [noSlots(caller, limit, limit === 'links' ? slots.used : links)];
  });
  return firstOf(outcomes);
}

function created<T>(value: T): CreateOutcome<T> {
  return { ok: true, value, replayed: false };
}

function noSlots(
  { limits }: Caller,
  limit: PlanLimitReached['limit'],
  used: number,
): PlanLimitReached {
  return { ok: false, reason: 'plan_limit', limit, used, allowed: limits[limit] ?? used };
}

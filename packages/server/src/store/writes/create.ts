import type { BatchResultItem, Link } from '@shortlink/sdk/wire';
import { exceedsBatchSize } from '../../domain/limits.ts';
import type { Writing } from '../queries/reading.ts';
import type {
  AcceptedJob,
  CreateJobRequest,
  CreateOutcome,
  CreateRequest,
  NewLink,
  Outcome,
  PlanLimitReached,
} from '../store.ts';
import { StoreError } from '../store-error.ts';
import type { Engine } from './engine.ts';
import { createIdempotently } from './idempotency.ts';
import { createdLink, insertLinks, toResultItem } from './insert-links.ts';
import { insertJob, runJobChunk } from './jobs.ts';

/**
 * Creates links of one account that were asked for at the same time in one transaction: the account's total is
 * locked once, and there is one wait for the disk. All get the creation time of the first. When the plan does not allow all of them, those that
 * came first are created, and the others refused.
 */
export function createLinks(
  engine: Engine,
  group: readonly CreateRequest<NewLink>[],
): Writing<CreateOutcome<Link>[]> {
  return createIdempotently(engine, group, function* (requests) {
    const [granted, refusal] = yield* takeSlots(engine, requests, 1);
    const inputs = requests.slice(0, granted).map(({ input }) => input);
    const { caller, now } = firstOf(requests);
    const links = yield* insertLinks(engine, caller.accountId, inputs, now);
    return requests.map((_, index): Outcome<Link> => {
      const link = links[index];
      return link === undefined ? refusal : { ok: true, value: createdLink(link) };
    });
  });
}

export function* createLink(
  engine: Engine,
  request: CreateRequest<NewLink>,
): Writing<CreateOutcome<Link>> {
  return firstOf(yield* createLinks(engine, [request]));
}

export function createBatch(
  engine: Engine,
  request: CreateRequest<readonly NewLink[]>,
): Writing<CreateOutcome<BatchResultItem[]>> {
  const { caller, input, now } = request;
  return createMany(engine, request, input.length, function* () {
    return (yield* insertLinks(engine, caller.accountId, input, now)).map(toResultItem);
  });
}

/** A job that runs now never has its inputs on the disk, and needs one commit. It runs only while nobody else waits. */
export function createJob(
  engine: Engine,
  request: CreateJobRequest,
): Writing<CreateOutcome<AcceptedJob>> {
  const { caller, input, now } = request;
  return createMany(engine, request, input.total, function* () {
    const job = yield* insertJob(caller.accountId, input, now);
    if (request.runNow !== true || !engine.isIdle(job.job_id)) return job;
    const { processed } = yield* runJobChunk(engine, job.job_id, now);
    return { ...job, processed };
  });
}

/** One create of many links: all or none. It may have more links than the plan allows in one request. */
function* createMany<T>(
  engine: Engine,
  request: CreateRequest<unknown>,
  links: number,
  create: () => Writing<T>,
): Writing<CreateOutcome<T>> {
  const { keyId, limits } = request.caller;
  const outcomes = yield* createIdempotently<T, CreateRequest<unknown>>(
    engine,
    [request],
    function* (requests) {
      if (limits.batch_size !== null && exceedsBatchSize(limits, links)) {
        yield* engine.countLargeBatch(keyId, request.now);
        return [refused('batch_size', links, limits.batch_size)];
      }
      const [granted, refusal] = yield* takeSlots(engine, requests, links);
      return [granted === 1 ? { ok: true, value: yield* create() } : refusal];
    },
  );
  return firstOf(outcomes);
}

/** Takes quota slots for requests that want as many links each. So many, from the first on, have theirs; the others are refused. */
function* takeSlots(
  engine: Engine,
  requests: readonly CreateRequest<unknown>[],
  links: number,
): Writing<[granted: number, refusal: PlanLimitReached]> {
  const { caller, now } = firstOf(requests);
  const wanted = requests.map((request) => ({ keyId: request.caller.keyId, links }));
  const { granted, used } = yield* engine.takeSlots(caller, wanted, now);
  return [granted, refused('links', used, caller.limits.links ?? used)];
}

function refused(
  limit: PlanLimitReached['limit'],
  used: number,
  allowed: number,
): PlanLimitReached {
  return { ok: false, reason: 'plan_limit', limit, used, allowed };
}

function firstOf<T>(values: readonly T[]): T {
  const [first] = values;
  if (first === undefined) throw new StoreError('internal', 'A create has no outcome.');
  return first;
}

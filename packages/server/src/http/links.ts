import {
  type BatchResultItem,
  type CompletedBatch,
  HEADERS,
  jobPath,
  MAX_BODY_BYTES,
  MAX_SYNC_BATCH_LINKS,
  type PlanLimits,
  type ProcessingBatch,
} from '@shortlink/sdk/wire';
import type { Context } from 'hono';
import {
  idempotencyConflict,
  invalidBatch,
  invalidLink,
  planLimitReached,
} from '../domain/problem.ts';
import {
  domainIdsOf,
  isDomainId,
  type LinkRules,
  type ValidLink,
  validateBatchOutline,
  validateEntries,
  validateLink,
} from '../domain/validate-link.ts';
import type {
  AcceptedJob,
  Caller,
  CreateOutcome,
  CreateRequest,
  Idempotency,
} from '../store/store.ts';
import type { CallerEnv, RouteDeps } from './context.ts';
import { readIdempotency } from './idempotency.ts';
import { type BodySteps, type JsonBody, withJsonBody } from './read-body.ts';
import { respondJson } from './respond.ts';

/** The largest body with one link: it holds the longest allowed link ten times, even if every character is escaped. */
export const MAX_LINK_BODY_BYTES = 256 * 1024;

/** Bytes of a link in a batch, at most: 2,048 characters of the target, 255 of the title and 20 tags of 64, each escaped, and their names. */
const MAX_ENTRY_BYTES = 24 * 1024;

/** The largest body with a batch that the plan allows. */
function maxBatchBytes({ batch_size }: PlanLimits): number {
  const links = batch_size ?? Number.POSITIVE_INFINITY;
  return Math.min(MAX_BODY_BYTES, MAX_LINK_BODY_BYTES + links * MAX_ENTRY_BYTES);
}

/** `POST /api/v1/links`: creates one link. */
export function createLink(deps: RouteDeps) {
  return creation<ValidLink>(deps, {
    maxBytes: () => MAX_LINK_BODY_BYTES,
    domainIds: ({ domain_id }) => (isDomainId(domain_id) ? [domain_id] : []),
    validate: async (body, rules) => {
      const checked = validateLink(body, { ...rules, defaultDomainId: null });
      if (!checked.ok) throw invalidLink(checked.details);
      return checked.value;
    },
    respond: async (c, request) => {
      const { value, replayed } = await create(deps, request, () => deps.store.createLink(request));
      if (!replayed) deps.metrics.countLinks('single', 1);
      return respondJson(c, value, 201);
    },
    replay: (c, value) => respondJson(c, value, 201),
  });
}

/**
 * `POST /api/v1/links/batch`: up to 100 links are created at once and the response is 200; more become a job, and the response
 * is 202.
 */
export function createBatch(deps: RouteDeps) {
  return creation<readonly ValidLink[]>(deps, {
    maxBytes: ({ limits }) => maxBatchBytes(limits),
    domainIds: domainIdsOf,
    validate: async (body, rules) => {
      const outline = validateBatchOutline(body);
      const checked = outline.ok ? await validateEntries(outline.value, rules) : outline;
      if (!checked.ok) throw invalidBatch(checked.details);
      return checked.value;
    },
    respond: (c, request) =>
      request.input.length <= MAX_SYNC_BATCH_LINKS
        ? createAtOnce(deps, c, request)
        : acceptJob(deps, c, request),
    replay: (c, value) =>
      Array.isArray(value) ? completed(c, value) : accepted(deps, c, value as AcceptedJob),
  });
}

interface Creation<T> extends Pick<BodySteps<T>, 'domainIds'> {
  /** The largest body that the caller can need. */
  maxBytes: (caller: Caller) => number;
  /** Throws a problem for a body that breaks a rule. */
  validate: (body: JsonBody['value'], rules: Omit<LinkRules, 'defaultDomainId'>) => Promise<T>;
  respond: (c: Context<CallerEnv>, request: CreateRequest<T>) => Promise<Response>;
  /** The response to a request that has created this before. */
  replay: (c: Context<CallerEnv>, value: object) => Response;
}

/** A request that may be carried out, or the rule that it breaks. */
type Checked<T> =
  | { idempotency: Idempotency | undefined; input: T }
  | { idempotency: Idempotency; problem: unknown };

/**
 * The handler of a create: it reads and checks the body, and then responds. A request that breaks a rule may have been carried out under its
 * key when the rules were others, as before a domain was removed: then it gets the same response as before.
 */
function creation<T>(
  deps: RouteDeps,
  { maxBytes, domainIds, validate, respond, replay }: Creation<T>,
) {
  const { store, bodyRoom, isAllowedHost } = deps;
  return (c: Context<CallerEnv>): Promise<Response> => {
    const caller = c.get('caller');
    return withJsonBody(c, bodyRoom, {
      maxBytes: maxBytes(caller),
      domainIds,
      findDomains: (ids) => store.ownedDomains(caller.accountId, ids),
      check: async ({ bytes, value }, ownedDomains): Promise<Checked<T>> => {
        const idempotency = readIdempotency(c.req, bytes);
        const { isOwnHost } = await deps.ownHosts();
        try {
          const input = await validate(value, { isOwnHost, isAllowedHost, ownedDomains });
          return { idempotency, input };
        } catch (problem) {
          if (idempotency === undefined) throw problem;
          return { idempotency, problem };
        }
      },
      respond: async (checked) => {
        const now = deps.now();
        if (!('problem' in checked)) return respond(c, { caller, now, ...checked });
        const { idempotency, problem } = checked;
        const earlier = await store.findCreated(caller.accountId, idempotency, now);
        if (earlier === undefined) throw problem;
        return replay(c, earlier);
      },
    });
  };
}

type BatchRequest = CreateRequest<readonly ValidLink[]>;

async function createAtOnce(
  deps: RouteDeps,
  c: Context<CallerEnv>,
  request: BatchRequest,
): Promise<Response> {
  const { value: results, replayed } = await create(deps, request, () =>
    deps.store.createBatch(request),
  );
  if (!replayed) deps.metrics.countLinks('batch', results.length);
  return completed(c, results);
}

function completed(c: Context<CallerEnv>, results: BatchResultItem[]): Response {
  const body: CompletedBatch = { status: 'completed', total: results.length, results };
  return respondJson(c, body);
}

async function acceptJob(
  deps: RouteDeps,
  c: Context<CallerEnv>,
  request: BatchRequest,
): Promise<Response> {
  const startedAt = performance.now();
  const { value, replayed } = await create(deps, request, () =>
    deps.store.createJob({ ...request, runNow: true }),
  );
  const { processed = 0 } = value;
  if (processed > 0 && !replayed) {
    deps.metrics.countLinks('job', processed);
    deps.jobPace.made(processed, startedAt, performance.now());
  }
  return accepted(deps, c, value);
}

function accepted(
  deps: RouteDeps,
  c: Context<CallerEnv>,
  { job_id, total, processed = 0 }: AcceptedJob,
): Response {
  if (processed < total) deps.onJobAccepted(job_id);
  const body: ProcessingBatch = { job_id, status: 'processing', total };
  const pendingJobs = deps.pendingJobs() + 1;
  const seconds = deps.jobPace.secondsUntilPoll({ total, processed, ageMs: 0, pendingJobs });
  return respondJson(c, body, 202, {
    Location: jobPath(job_id),
    [HEADERS.retryAfter]: String(seconds),
  });
}

/**
 * Carries a create out, or finds what an earlier request with the same idempotency key created: then it is `replayed`. Throws a problem when
 * the create was rejected.
 */
async function create<T>(
  { runUnlessRunning }: RouteDeps,
  { caller, idempotency }: CreateRequest<unknown>,
  act: () => Promise<CreateOutcome<T>>,
): Promise<{ value: T; replayed: boolean }> {
  const outcome = await runUnlessRunning(caller.accountId, idempotency, act);
  if (outcome.ok) return outcome;
  switch (outcome.reason) {
    case 'plan_limit':
      throw planLimitReached(outcome);
    case 'idempotency_conflict':
      throw idempotencyConflict();
  }
}

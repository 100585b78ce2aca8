import {
  type BatchResultItem,
  type CompletedBatch,
  type ErrorBody,
  HEADERS,
  jobPath,
  type ProcessingBatch,
} from '@shortlink/sdk/wire';
import type { Context } from 'hono';
import { badRequest, idempotencyConflict, planLimitReached } from '../domain/problem.ts';
import type { ValidLink } from '../domain/validate-link.ts';
import type { AcceptedJob, CreateOutcome, CreateRequest, JobInput } from '../store/store.ts';
import type { CheckedBody } from './check-body.ts';
import type { CallerEnv, RouteDeps } from './context.ts';
import { readIdempotency } from './idempotency.ts';
import { withBody } from './read-body.ts';
import { respondJson } from './respond.ts';

/** `POST /api/v1/links`: creates one link. */
export function createLink(deps: RouteDeps) {
  return (c: Context<CallerEnv>): Promise<Response> =>
    withBody(c, deps, 'link', async (body) => {
      const sender = senderOf(deps, c, body);
      if ('problem' in body) {
        return respondJson(c, await earlierOr(body.problem, deps, sender), 201);
      }
      const { value, replayed } = await create(deps, sender, () =>
        deps.store.createLink({ ...sender, input: body.input }),
      );
      if (!replayed) deps.metrics.countLinks('single', 1);
      return respondJson(c, value, 201);
    });
}

/**
 * `POST /api/v1/links/batch`: up to 100 links are created at once and the response is 200; more become a job, and the response
 * is 202.
 */
export function createBatch(deps: RouteDeps) {
  return (c: Context<CallerEnv>): Promise<Response> =>
    withBody(c, deps, 'batch', async (body) => {
      const sender = senderOf(deps, c, body);
      if ('problem' in body) {
        const earlier = await earlierOr(body.problem, deps, sender);
        if (Array.isArray(earlier)) return completed(c, earlier);
        return accepted(deps, c, earlier as AcceptedJob);
      }
      const { input } = body;
      return 'chunks' in input
        ? acceptJob(deps, c, { ...sender, input })
        : createAtOnce(deps, c, { ...sender, input });
    });
}
type Sender = Omit<CreateRequest<unknown>, 'input'>;

function senderOf({ now }: RouteDeps, c: Context<CallerEnv>, { fingerprint }: CheckedBody): Sender {
  return {
    caller: c.get('caller'),
    now: now(),
    idempotency: readIdempotency(c.req, fingerprint),
  };
}

/**
 * What a request that breaks a rule created under its key when the rules were others, as before a domain was removed. Throws the problem where
 * it created nothing.
 */
async function earlierOr(
  problem: ErrorBody,
  { store }: RouteDeps,
  { caller, now, idempotency }: Sender,
): Promise<object> {
  const earlier = idempotency && (await store.findCreated(caller.accountId, idempotency, now));
  if (earlier === undefined) throw badRequest(problem);
  return earlier;
}

async function createAtOnce(
  deps: RouteDeps,
  c: Context<CallerEnv>,
  request: CreateRequest<readonly ValidLink[]>,
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
  request: CreateRequest<JobInput>,
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
  { caller, idempotency }: Sender,
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

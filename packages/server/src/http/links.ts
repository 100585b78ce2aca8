import {
  type BatchResultItem,
  type CompletedBatch,
  HEADERS,
  jobPath,
  type ProcessingBatch,
} from '@shortlink/sdk/wire';
import type { Context, HonoRequest } from 'hono';
import { badRequest, idempotencyConflict, planLimitReached } from '../domain/problem.ts';
import type { AcceptedJob, Caller, CreateOutcome, CreateRequest } from '../store/store.ts';
import type { BodyInputs, CheckedBody } from './check-body.ts';
import type { AppOptions } from './context.ts';
import { type RunUnlessRunning, readIdempotency } from './idempotency.ts';
import type { BodyEnv } from './read-body.ts';
import { type HeaderContext, respondJson } from './respond.ts';

/** `POST /api/v1/links`: creates one link. */
export function createLink(deps: AppOptions, runUnlessRunning: RunUnlessRunning) {
  const { store, metrics } = deps;
  return async (c: Context<BodyEnv<'link'>>): Promise<Response> => {
    const { value, replayed } = await create(c, deps, runUnlessRunning, (request) =>
      store.createLink(request),
    );
    if (!replayed) metrics.count('links_created', 'by="single"');
    return respondJson(c, value, 201);
  };
}

/** `POST /api/v1/links/batch`: up to 100 links are created at once (200), more become a job (202). */
export function createBatch(deps: AppOptions, runUnlessRunning: RunUnlessRunning) {
  const { store, metrics } = deps;
  return async (c: Context<BodyEnv<'batch'>>): Promise<Response> => {
    const startedAt = performance.now();
    const { value, replayed } = await create<BodyInputs['batch'], BatchResultItem[] | AcceptedJob>(
      c,
      deps,
      runUnlessRunning,
      ({ input, ...sender }) =>
        'chunks' in input
          ? store.createJob({ ...sender, input, runNow: true })
          : store.createBatch({ ...sender, input }),
    );
    if (!Array.isArray(value)) return accepted(c, deps, value, { replayed, startedAt });
    if (!replayed) metrics.count('links_created', 'by="batch"', value.length);
    const body: CompletedBatch = { status: 'completed', total: value.length, results: value };
    return respondJson(c, body);
  };
}

function accepted(
  c: HeaderContext,
  { metrics, jobPace, jobs }: AppOptions,
  { job_id, total, processed = 0 }: AcceptedJob,
  { replayed, startedAt }: { replayed: boolean; startedAt: number },
): Response {
  if (processed > 0 && !replayed) {
    metrics.count('links_created', 'by="job"', processed);
    jobPace.made(processed, startedAt, performance.now());
  }
  if (processed < total) jobs.notify(job_id);
  const progress = { total, processed, ageMs: 0, pendingJobs: jobs.pendingJobs + 1 };
  const body: ProcessingBatch = { job_id, status: 'processing', total };
  return respondJson(c, body, 202, {
    Location: jobPath(job_id),
    [HEADERS.retryAfter]: String(jobPace.secondsUntilPoll(progress)),
  });
}

interface Sent<I> {
  req: HonoRequest;
  var: { caller: Caller; body: CheckedBody<I> };
}

/**
 * Creates what a body asks for, or finds what an earlier request with the same idempotency key created: also one that broke no rule then, as before
 * a domain was removed. Throws a problem when the create is rejected.
 */
async function create<I, T>(
  { req, var: { caller, body } }: Sent<I>,
  { store, now }: AppOptions,
  runUnlessRunning: RunUnlessRunning,
  act: (request: CreateRequest<I>) => Promise<CreateOutcome<T>>,
): Promise<{ value: T; replayed: boolean }> {
  const idempotency = readIdempotency(req, body.fingerprint);
  const sender = { caller, now: now(), idempotency };
  if ('problem' in body) {
    const value =
      idempotency && (await store.findCreated(caller.accountId, idempotency, sender.now));
    if (value === undefined) throw badRequest(body.problem);
    // The key and its fingerprint are those of a request to the same endpoint.
    return { value: value as T, replayed: true };
  }
  const { input } = body;
  const outcome = await runUnlessRunning(caller.accountId, idempotency, () =>
    act({ ...sender, input }),
  );
  if (outcome.ok) return outcome;
  throw outcome.reason === 'plan_limit' ? planLimitReached(outcome) : idempotencyConflict();
}

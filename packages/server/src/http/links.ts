import * as wire from '@shortlink/sdk/wire';
import type { Context, HonoRequest } from 'hono';
import * as problems from '../domain/problem.ts';
import type { AcceptedJob, CreateOutcome, CreateRequest } from '../store/store.ts';
import type { BodyInputs } from './check-body.ts';
import { type AppOptions, respondJson } from './context.ts';
import type { BodyEnv } from './read-body.ts';

export function createHandlers(deps: AppOptions) {
  const { store, metrics, now, jobs, jobPace } = deps;
  /** Creates with an idempotency key that run in this process. The store finds duplicates that reach two instances. */
  const running = new Set<string>();

  /** Creates what a body asks for, or finds what an earlier request with its idempotency key created, even if the body breaks a rule by now. */
  async function create<K extends 'link' | 'batch', T>(
    { req, var: { caller, body } }: Context<BodyEnv<K>>,
    act: (request: CreateRequest<BodyInputs[K]>) => Promise<CreateOutcome<T>>,
  ): Promise<{ value: T; replayed: boolean }> {
    const idempotency = readIdempotency(req, body.fingerprint);
    const sender = { caller, now: now(), idempotency };
    if ('problem' in body) {
      const value =
        idempotency && (await store.findCreated(caller.accountId, idempotency, sender.now));
      if (value === undefined) throw problems.badRequest(body.problem);
      // The key and its fingerprint are those of a request to the same endpoint.
      return { value: value as T, replayed: true };
    }
    const id = idempotency === undefined ? '' : `${caller.accountId} ${idempotency.key}`;
    if (running.has(id)) throw problems.idempotencyInProgress();
    if (id !== '') running.add(id);
    try {
      const outcome = await act({ ...sender, input: body.input });
      if (outcome.ok) return outcome;
      if (outcome.reason === 'plan_limit') throw problems.planLimitReached(outcome);
      throw problems.idempotencyConflict();
    } finally {
      running.delete(id);
    }
  }

  return {
    /** `POST /api/v1/links`: creates one link. */
    link: async (c: Context<BodyEnv<'link'>>): Promise<Response> => {
      const { value, replayed } = await create(c, (request) => store.createLink(request));
      if (!replayed) metrics.count('links_created', 'by="single"');
      return respondJson(c, value, 201);
    },

    /** `POST /api/v1/links/batch`: up to 100 links are created at once (200), more become a job (202). */
    batch: async (c: Context<BodyEnv<'batch'>>): Promise<Response> => {
      const startedAt = performance.now();
      const act = ({ input, ...sender }: CreateRequest<BodyInputs['batch']>) =>
        'chunks' in input
          ? store.createJob({ ...sender, input, runNow: true })
          : store.createBatch({ ...sender, input });
      const { value, replayed } = await create<'batch', wire.BatchResultItem[] | AcceptedJob>(
        c,
        act,
      );
      if (Array.isArray(value)) {
        const total = value.length;
        if (!replayed) metrics.count('links_created', 'by="batch"', total);
        const body: wire.CompletedBatch = { status: 'completed', total, results: value };
        return respondJson(c, body);
      }
      const { job_id, total, processed = 0 } = value;
      if (processed > 0 && !replayed) {
        metrics.count('links_created', 'by="job"', processed);
        jobPace.made(processed, startedAt, performance.now());
      }
      if (processed < total) jobs.notify(job_id);
      const progress = { total, processed, ageMs: 0, pendingJobs: jobs.pendingJobs };
      const body: wire.ProcessingBatch = { job_id, status: 'processing', total };
      return respondJson(c, body, 202, {
        Location: wire.jobPath(job_id),
        [wire.HEADERS.retryAfter]: String(jobPace.secondsUntilPoll(progress)),
      });
    },
  };
}

/** Printable ASCII without a space, and not beginning like a quoted key. */
const BARE_KEY = /^(?!")[\x21-\x7e]{1,255}$/;

/** A structured-field string (RFC 9651 section 3.3.3). */
const QUOTED_KEY = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\]){1,255})"$/;

/** The key in a header: the draft asks for a quoted string, and most clients send it bare. `undefined` for anything else. */
export function parseIdempotencyKey(header: string): string | undefined {
  if (BARE_KEY.test(header)) return header;
  return QUOTED_KEY.exec(header)?.[1]?.replace(/\\(["\\])/g, '$1');
}

function readIdempotency(request: HonoRequest, fingerprint: string | undefined) {
  if (fingerprint === undefined) return undefined;
  const key = parseIdempotencyKey(request.header(wire.HEADERS.idempotencyKey) ?? '');
  if (key === undefined) {
    throw problems.invalidRequest('Idempotency-Key must be 1 to 255 printable ASCII characters.');
  }
  return { key, fingerprint };
}

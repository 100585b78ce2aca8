import {
  type CompletedBatch,
  jobPath,
  MAX_SYNC_BATCH_LINKS,
  type ProcessingBatch,
} from '@shortlink/sdk/wire';
import type { Context } from 'hono';
import { invalidBatch } from '../domain/problem.ts';
import { domainIdsOf, validateBatchOutline, validateEntries } from '../domain/validate-batch.ts';
import type { ValidLink } from '../domain/validate-link.ts';
import { answerJson } from '../middleware/answer.ts';
import type { CallerEnv } from '../middleware/env.ts';
import { readIdempotency } from '../middleware/idempotency.ts';
import { readJson } from '../middleware/read-json.ts';
import type { Caller, CreateRequest } from '../store/store.ts';
import type { RouteDeps } from './deps.ts';
import { createdBy, isReplay } from './outcome.ts';

/**
 * `POST /api/v1/links/batch` (spec, "create many links"): up to 100 links are created at once and answered with 200,
 * more become a job and are answered with 202.
 */
export function createBatch(deps: RouteDeps) {
  return async (c: Context<CallerEnv>): Promise<Response> => {
    const caller = c.get('caller');
    const body = await readJson(c.req);
    const idempotency = readIdempotency(c.req, body.bytes);
    const links = await validate(deps, caller, body.value);
    const request = { caller, input: links, now: deps.now(), idempotency };
    return links.length <= MAX_SYNC_BATCH_LINKS
      ? createAtOnce(deps, c, request)
      : acceptJob(deps, c, request);
  };
}

async function validate(
  deps: RouteDeps,
  caller: Caller,
  body: Record<string, unknown>,
): Promise<ValidLink[]> {
  const outline = validateBatchOutline(body);
  if (!outline.ok) throw invalidBatch(outline.details);
  const ids = domainIdsOf(outline.value);
  const [{ isOwnHost }, ownedDomains] = await Promise.all([
    deps.ownHosts(),
    ids.length > 0 ? deps.store.ownedDomains(caller.accountId, ids) : new Set<string>(),
  ]);
  const { isAllowedHost } = deps;
  const checked = await validateEntries(outline.value, { isOwnHost, isAllowedHost, ownedDomains });
  if (!checked.ok) throw invalidBatch(checked.details);
  return checked.value;
}

type BatchRequest = CreateRequest<readonly ValidLink[]>;

async function createAtOnce(
  deps: RouteDeps,
  c: Context<CallerEnv>,
  request: BatchRequest,
): Promise<Response> {
  const { caller, idempotency } = request;
  const outcome = await deps.runOnce(caller.accountId, idempotency, () =>
    deps.store.createBatch(request),
  );
  const results = createdBy(outcome);
  if (!isReplay(outcome)) deps.metrics.countLinks('batch', results.length);
  const answer: CompletedBatch = { status: 'completed', total: results.length, results };
  return answerJson(c, answer);
}

async function acceptJob(
  deps: RouteDeps,
  c: Context<CallerEnv>,
  request: BatchRequest,
): Promise<Response> {
  const { caller, idempotency } = request;
  const { job_id, total } = createdBy(
    await deps.runOnce(caller.accountId, idempotency, () => deps.store.createJob(request)),
  );
  deps.onJobAccepted(job_id);
  const answer: ProcessingBatch = { job_id, status: 'processing', total };
  return answerJson(c, answer, 202, { Location: jobPath(job_id) });
}

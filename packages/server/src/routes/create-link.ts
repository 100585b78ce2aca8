import type { Context } from 'hono';
import { invalidLink } from '../domain/problem.ts';
import { validateLink } from '../domain/validate-link.ts';
import { answerJson } from '../middleware/answer.ts';
import type { CallerEnv } from '../middleware/env.ts';
import { readIdempotency } from '../middleware/idempotency.ts';
import { readJson } from '../middleware/read-json.ts';
import type { RouteDeps } from './deps.ts';
import { createdBy, isReplay } from './outcome.ts';

/** `POST /api/v1/links` (spec, "create one link"). */
export function createLink(deps: RouteDeps) {
  return async (c: Context<CallerEnv>): Promise<Response> => {
    const caller = c.get('caller');
    const body = await readJson(c.req);
    const idempotency = readIdempotency(c.req, body.bytes);
    const domainId = body.value['domain_id'];
    const [{ isOwnHost }, ownedDomains] = await Promise.all([
      deps.ownHosts(),
      typeof domainId === 'string'
        ? deps.store.ownedDomains(caller.accountId, [domainId])
        : new Set<string>(),
    ]);
    const checked = validateLink(body.value, {
      isOwnHost,
      isAllowedHost: deps.isAllowedHost,
      ownedDomains,
      defaultDomainId: null,
    });
    if (!checked.ok) throw invalidLink(checked.details);
    const outcome = await deps.runOnce(caller.accountId, idempotency, () =>
      deps.store.createLink({ caller, input: checked.value, now: deps.now(), idempotency }),
    );
    const link = createdBy(outcome);
    if (!isReplay(outcome)) deps.metrics.countLinks('single', 1);
    return answerJson(c, link, 201);
  };
}

import type { Context } from 'hono';
import { answerJson } from '../middleware/answer.ts';
import type { AppEnv } from '../middleware/env.ts';
import type { RouteDeps } from './deps.ts';

const NOT_STORED = { 'Cache-Control': 'no-store' } as const;

/** `GET /healthz` (addition): the process answers. */
export function health(c: Context<AppEnv>): Response {
  return answerJson(c, { status: 'ok' }, 200, NOT_STORED);
}

/** `GET /readyz` (addition): 503 while draining or without a database, so that balancers send requests elsewhere. */
export function readiness(deps: Pick<RouteDeps, 'store' | 'isDraining'>) {
  return async (c: Context<AppEnv>): Promise<Response> => {
    const problem = deps.isDraining() ? 'shutting down' : await databaseProblem(deps);
    if (problem === undefined) return answerJson(c, { status: 'ready' }, 200, NOT_STORED);
    const body = { error: `Not ready: ${problem}.`, code: 'unavailable' };
    return answerJson(c, body, 503, NOT_STORED);
  };
}

function databaseProblem(deps: Pick<RouteDeps, 'store'>): Promise<string | undefined> {
  return deps.store.ping().then(
    () => undefined,
    () => 'the database can not be used',
  );
}

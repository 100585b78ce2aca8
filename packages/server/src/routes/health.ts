import type { Context } from 'hono';
import type { AppEnv } from '../middleware/env.ts';
import type { RouteDeps } from './deps.ts';

/** `GET /healthz` (addition): the process answers. */
export function health(c: Context<AppEnv>): Response {
  c.header('Cache-Control', 'no-store');
  return c.json({ status: 'ok' });
}

/** `GET /readyz` (addition): 503 while draining or without a database, so that balancers send requests elsewhere. */
export function readiness(deps: Pick<RouteDeps, 'store' | 'isDraining'>) {
  return async (c: Context<AppEnv>): Promise<Response> => {
    c.header('Cache-Control', 'no-store');
    const problem = deps.isDraining() ? 'shutting down' : await databaseProblem(deps);
    if (problem === undefined) return c.json({ status: 'ready' });
    return c.json({ error: `Not ready: ${problem}.`, code: 'unavailable' }, 503);
  };
}

function databaseProblem(deps: Pick<RouteDeps, 'store'>): Promise<string | undefined> {
  return deps.store.ping().then(
    () => undefined,
    () => 'the database can not be used',
  );
}

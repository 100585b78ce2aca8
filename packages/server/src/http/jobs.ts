import type { Context } from 'hono';
import { notFound } from '../domain/problem.ts';
import type { CallerEnv, RouteDeps } from './context.ts';
import { respond } from './respond.ts';

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** `GET /api/v1/jobs/<job_id>` (spec, "poll a batch job"). Another account's job is as unknown as one that never was. */
export function getJob(deps: Pick<RouteDeps, 'store'>) {
  return async (c: Context<CallerEnv, '/api/v1/jobs/:id'>): Promise<Response> => {
    const id = c.req.param('id');
    const job = UUID.test(id)
      ? await deps.store.findJob(c.get('caller').accountId, id.toLowerCase())
      : undefined;
    if (job === undefined) throw notFound('Job');
    const { resultsJson, ...head } = job;
    // The results are JSON already, up to megabytes of it: parsing them here would only be to write them again.
    const start = `${JSON.stringify(head).slice(0, -1)},"results":`;
    const body = Buffer.concat([Buffer.from(start), resultsJson, Buffer.from('}')]);
    return respond(c, body, 200, { 'Content-Type': 'application/json' });
  };
}

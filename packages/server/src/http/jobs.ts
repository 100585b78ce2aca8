import { setImmediate as nextTurn } from 'node:timers/promises';
import { HEADERS } from '@shortlink/sdk/wire';
import type { Context } from 'hono';
import { UUID } from '../domain/ids.ts';
import { notFound } from '../domain/problem.ts';
import type { Store, StoredJob } from '../store/store.ts';
import { StoreError } from '../store/store-error.ts';
import { type AppOptions, type CallerEnv, respond } from './context.ts';
import { largeResponses } from './large-responses.ts';

const WHOLE_BYTES = 64 * 1024;

/** `GET /api/v1/jobs/<job_id>`. Another account's job is as unknown as one that never was. */
export function getJob(deps: AppOptions) {
  const sendLarge = largeResponses('polls', 1);
  return async (c: Context<CallerEnv, '/api/v1/jobs/:id'>): Promise<Response> => {
    const id = c.req.param('id');
    const job = UUID.test(id)
      ? await deps.store.findJob(c.get('caller').accountId, id.toLowerCase())
      : undefined;
    if (job === undefined) throw notFound('Job');
    const { results, createdAt, ...shown } = job;
    if (job.status === 'processing') {
      const seen = { ...job, ageMs: deps.now() - createdAt, pendingJobs: deps.jobs.pendingJobs };
      c.get('responseHeaders')[HEADERS.retryAfter] = String(deps.jobPace.secondsUntilPoll(seen));
    }
    const opening = Buffer.from(`${JSON.stringify(shown).slice(0, -1)},"results":[`);
    const bytes = opening.length + results.bytes + CLOSING.length;
    // In lower case: where a DOM for tests keeps the names of headers, the length would be sent twice.
    const headers = { 'Content-Type': 'application/json', 'content-length': String(bytes) };
    if (c.req.method === 'HEAD') return respond(c, '', 200, headers);
    const pieces = piecesOf(deps.store, job, opening);
    if (bytes > WHOLE_BYTES) return sendLarge(c, async () => ({ bytes, pieces }));
    const whole: Uint8Array[] = [];
    for await (const piece of pieces) whole.push(piece);
    return respond(c, Buffer.concat(whole), 200, headers);
  };
}

const COMMA = Buffer.from(',');
const CLOSING = Buffer.from(']}');

/** The body of the response. The results are JSON already, so they are only passed on. */
async function* piecesOf(
  store: Pick<Store, 'readJobResults'>,
  { id, results }: StoredJob,
  opening: Uint8Array,
): AsyncGenerator<Uint8Array> {
  yield opening;
  for (let chunk = 0; chunk < results.chunks; chunk += 1) {
    const bytes = await store.readJobResults(id, chunk);
    // `Content-Length` was sent already, so the connection has to be closed.
    if (bytes === undefined) throw new StoreError('internal', `Job ${id} lost chunk ${chunk}.`);
    if (chunk > 0) yield COMMA;
    yield bytes;
    // A database in memory or on this disk responds at once, and redirects must not wait for all chunks.
    await nextTurn();
  }
  yield CLOSING;
}

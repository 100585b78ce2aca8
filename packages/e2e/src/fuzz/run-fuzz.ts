import { createHash, randomBytes } from 'node:crypto';
import { PLAN_LIMITS, type PlanLimits } from '@shortlink/sdk/wire';
import fc from 'fast-check';
import { type Store, startTestServer, type TestServer } from '../inner-server.ts';
import { ApiDescription } from './api-description.ts';
import { checkAnswer, type RawAnswer } from './check-answer.ts';
import {
  type DrawnRequest,
  type KeyKind,
  nameOf,
  OWN_DOMAIN,
  requestsFor,
} from './make-request.ts';

/** Earlier codes and job ids that requests may refer to. */
const MAX_EARLIER = 50;

/** The custom domain of the account. */
const OWN_HOST = 'links.example.com';

/** The number of responses by operation and status. */
export type FuzzReport = Record<string, number>;

/**
 * Sends random requests, drawn from the server's own API description, to a real server on a socket, and compares every
 * response with that description. Rejects with the smallest request that shows a difference.
 */
export async function runFuzz(options: {
  requests: number;
  seed?: number;
  /** @default a database in memory */
  store?: Store;
}): Promise<FuzzReport> {
  await using server = await startTestServer({ plan: 'custom', store: options.store });
  const description = await (await fetch(`${server.url}/openapi.json`)).json();
  const api = new ApiDescription(Object(description));
  const keys = await makeKeys(server);
  const ownDomain = await server.store.addDomain({
    hostname: OWN_HOST,
    accountId: server.accountId,
    now: Date.now(),
  });
  if (ownDomain === undefined) throw new Error(`${OWN_HOST} is taken`);
  const earlier: Record<string, string[]> = { code: [], job_id: [] };
  const report: FuzzReport = {};

  const operations = new Map(api.operations().map((operation) => [nameOf(operation), operation]));
  const anyRequest = fc.oneof(
    // The operations that create something: what they have made is what many of the others look for.
    ...[...operations.values()].map((operation) => ({
      arbitrary: requestsFor(api, operation),
      weight: operation.body === undefined ? 1 : 4,
    })),
  );
  await fc.assert(
    fc.asyncProperty(anyRequest, async (request) => {
      const drawn = operations.get(request.operation);
      if (drawn === undefined) throw new Error(`no operation ${request.operation}`);
      const { method } = request;
      // A method drawn at random may be another operation of the same path.
      const operation = operations.get(nameOf({ method, path: drawn.path })) ?? drawn;
      const { body } = request;
      const known = typeof body === 'string' ? body.replaceAll(OWN_DOMAIN, ownDomain.id) : body;
      const url = server.url + operation.path;
      const ask = () => send(url, { ...request, body: known }, keys, earlier);
      const first = await ask();
      // A database that is held up for a moment makes an honest 503. One that the request itself causes comes again.
      const isBusy = first.status === 503 && first.headers.has('retry-after');
      const answer = isBusy ? await ask() : first;
      remember(earlier, answer);
      const line = `${method} ${operation.path} ${answer.status}`;
      report[line] = (report[line] ?? 0) + 1;
      const problems = checkAnswer(api, operation, method, answer);
      if (problems.length > 0) throw new Error(problems.join('\n'));
    }),
    { numRuns: options.requests, ...(options.seed !== undefined && { seed: options.seed }) },
  );
  return Object.fromEntries(Object.entries(report).toSorted());
}

async function send(
  template: string,
  request: DrawnRequest,
  keys: Record<KeyKind, string | undefined>,
  earlier: Record<string, string[]>,
): Promise<RawAnswer> {
  const url = template.replace(/\{(\w+)\}/, (_, name: string) => {
    if (request.path.kind === 'random') return request.path.text;
    const known = earlier[name] ?? [];
    return known[request.path.pick % known.length] ?? 'none';
  });
  const headers = new Headers(request.headers);
  const key = keys[request.key];
  if (key !== undefined) headers.set('X-Api-Key', key);
  const takesBody = request.method !== 'GET' && request.method !== 'HEAD';
  const response = await fetch(url, {
    method: request.method,
    headers,
    redirect: 'manual',
    ...(takesBody && request.body !== undefined && { body: new Blob([bytesOf(request.body)]) }),
  });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function bytesOf(body: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return typeof body === 'string' ? new TextEncoder().encode(body) : new Uint8Array(body);
}

/** Keeps the ids of jobs, and the codes that redirect on the server's own host: those of the account's domain are 404 there. */
function remember(earlier: Record<string, string[]>, { status, text }: RawAnswer): void {
  if (status >= 300) return;
  const patterns = {
    code: `"short_url":"https?://(?!${OWN_HOST})[^/"]+/([^"]+)"`,
    job_id: '"job_id":"([^"]+)"',
  };
  for (const [name, pattern] of Object.entries(patterns)) {
    const known = earlier[name] ?? [];
    const found = new RegExp(pattern).exec(text)?.[1];
    if (found !== undefined && known.length < MAX_EARLIER) known.push(found);
  }
}

/** One API key of each kind. Each has an account of its own, except the one that may only read. */
async function makeKeys({ store, accountId, apiKey }: TestServer) {
  const newKey = async (limits: Partial<PlanLimits> | undefined, reading = false) => {
    const account =
      limits === undefined
        ? accountId
        : (
            await store.createAccount({
              name: 'fuzz',
              plan: 'custom',
              limits: { ...PLAN_LIMITS.custom, ...limits },
              now: Date.now(),
            })
          ).id;
    const key = `sl_${randomBytes(32).toString('hex')}`;
    await store.createKey({
      accountId: account,
      name: 'fuzz',
      permissions: [reading ? 'analytics:read' : 'shortlinks:write'],
      hash: createHash('sha256').update(key).digest(),
      now: Date.now(),
    });
    return key;
  };
  return {
    good: apiKey,
    reading: await newKey(undefined, true),
    'rate limited': await newKey({ requests_per_minute: 3, requests_per_month: 1_000_000 }),
    'plan limited': await newKey({ links: 3, batch_size: 2 }),
    wrong: 'sl_wrong',
    none: undefined,
  } satisfies Record<KeyKind, string | undefined>;
}

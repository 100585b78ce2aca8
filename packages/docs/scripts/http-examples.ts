import { Shortlink } from '@shortlink/sdk';
import { startTestServer } from '../../server/src/testing/index.ts';

/** Address that the examples name in place of that of the service which ran them. */
export const EXAMPLE_URL = 'https://go.example.com';

/** A request and what the service responds to it, printed from a running one. */
interface Example {
  curl: string;
  /** The same through the client, which ran too; undefined where the client has no call for it. */
  typescript?: string;
  status: number;
  /** The body of the response; undefined where it has none. */
  json?: string;
  /** Headers that are the response, such as where a redirect leads. */
  location?: string | undefined;
}

interface Request {
  method: 'GET' | 'POST';
  path: string;
  body?: unknown;
  key?: string;
  headers?: Record<string, string>;
}

const TARGET = 'https://example.com/docs';
const ROW = { target_url: TARGET, title: 'Docs', tags: ['docs'] };
const LARGE = Array.from({ length: 101 }, (_, index) => ({ target_url: `${TARGET}/${index}` }));

/** Runs a request with every endpoint of the API, and one with every error that a caller can cause. */
export async function runExamples(): Promise<{
  byOperation: Record<string, Example>;
  byStatus: Record<string, Example>;
}> {
  await using server = await startTestServer({ plan: 'avance' });
  await using small = await startTestServer({
    plan: 'community',
    limits: { requests_per_minute: 1 },
  });
  await using readOnly = await startTestServer({ permissions: ['analytics:read'] });
  const shortlink = new Shortlink({ apiKey: server.apiKey, baseUrl: server.url });
  const send = (request: Request, { url, apiKey } = { url: server.url, apiKey: server.apiKey }) =>
    exchange(url, { key: apiKey, ...request });

  /** Sends the request, and checks that the client's call does what its example says. */
  async function example(request: Request, typescript: string): Promise<Example> {
    const [, name = 'nothing'] = /^const \[?(\w+)/.exec(typescript) ?? [];
    const call = new Function(
      'shortlink',
      `return (async () => { ${typescript} return ${name}; })()`,
    );
    if ((await call(shortlink)) === undefined)
      throw new Error(`There is no ${name}: ${typescript}`);
    return { ...(await send(request)), typescript };
  }

  const links = [ROW, { target_url: 'https://example.com/pricing' }];
  const create = await example(
    { method: 'POST', path: '/api/v1/links', body: ROW },
    `const link = await shortlink.links.create({\n  target_url: '${TARGET}',\n  title: 'Docs',\n  tags: ['docs'],\n});`,
  );
  const batch = await example(
    { method: 'POST', path: '/api/v1/links/batch', body: { links } },
    `const batch = await shortlink.links.createBatch({\n  links: [{ target_url: '${TARGET}' }, { target_url: 'https://example.com/pricing' }],\n});`,
  );
  const lookup = await example(
    {
      method: 'POST',
      path: '/api/v1/links/lookup',
      body: { links: [{ target_url: 'https://example.com/pricing' }] },
    },
    "const [found] = await shortlink.links.lookup(['https://example.com/pricing']);",
  );
  const accepted = await shortlink.links.createBatch({ links: LARGE });
  if (accepted.status !== 'processing') throw new Error('101 links are no job');
  const { job_id } = accepted;
  await shortlink.jobs.wait(job_id);
  const job = await example(
    { method: 'GET', path: `/api/v1/jobs/${job_id}` },
    `const job = await shortlink.jobs.wait('${job_id}');`,
  );
  const usage = await example(
    { method: 'GET', path: '/api/v1/usage' },
    'const usage = await shortlink.usage.retrieve();',
  );

  const post = { method: 'POST', path: '/api/v1/links' } as const;
  const key = { 'Idempotency-Key': '3f1f3f0a-1b7c-4d8e-9a53-6a1f9f0f5c11' };
  await send({ ...post, body: ROW, headers: key });
  await send(post, small);
  const tooMany = Array.from({ length: 5_001 }, () => ({ target_url: TARGET }));
  const limit = await send({
    method: 'POST',
    path: '/api/v1/links/batch',
    body: { links: tooMany },
  });
  const byStatus = {
    400: await send({ ...post, body: { target_url: 'example.com' } }),
    401: await send({ ...post, key: 'sl_unknown', body: ROW }),
    '403 forbidden': await send({ ...post, body: ROW }, readOnly),
    '403 plan_limit': { ...limit, curl: limit.curl.replace(/\{"links":.*/s, "@links.json'") },
    404: await send({ method: 'GET', path: '/api/v1/jobs/00000000-0000-4000-8000-000000000000' }),
    415: await send({ ...post, body: ROW, headers: { 'Content-Type': 'text/plain' } }),
    422: await send({ ...post, body: { target_url: 'https://example.com/other' }, headers: key }),
    429: await send({ ...post, body: ROW }, small),
  };
  const byOperation = {
    'POST /api/v1/links': create,
    'POST /api/v1/links/batch': batch,
    'POST /api/v1/links/lookup': lookup,
    'GET /api/v1/jobs/{job_id}': job,
    'GET /api/v1/usage': usage,
    'GET /': await view(server.url, ''),
    'GET /{code}': await view(server.url, codeOf(create)),
    'GET /openapi.json': await view(server.url, 'openapi.json'),
    'GET /healthz': await view(server.url, 'healthz'),
    'GET /readyz': await view(server.url, 'readyz'),
    'GET /metrics': await view(server.url, 'metrics'),
    'GET /internal/tls-check': await view(server.url, 'internal/tls-check?domain=127.0.0.1'),
  };
  return { byOperation, byStatus };
}

/** Sends a request, and prints it as a command that does the same. */
async function exchange(url: string, { method, path, body, key, headers = {} }: Request) {
  const all = {
    'X-Api-Key': key ?? '',
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...headers,
  };
  const text = body === undefined ? null : JSON.stringify(body);
  const response = await fetch(url + path, { method, headers: all, body: text });
  const value: unknown = await response.json();
  const shown = { ...all, 'X-Api-Key': key === 'sl_unknown' ? key : 'YOUR_KEY' };
  const lines = [
    `curl ${EXAMPLE_URL}${path}`,
    ...Object.entries(shown).map(([name, content]) => `  -H '${name}: ${content}'`),
    ...(text === null ? [] : [`  -d '${text}'`]),
  ];
  const json = JSON.stringify(shortened(value), null, 2).replaceAll(url, EXAMPLE_URL);
  return { curl: lines.join(' \\\n'), status: response.status, json };
}

function codeOf({ json = '' }: Example): string {
  return JSON.parse(json).code;
}

/** Lines of a text that are shown. */
const LINES = 6;

/** Where programs of the same machine, which need no token, reach the service. */
const LOCAL_URL = 'http://127.0.0.1:8787';

/** What needs no key: a link that is followed, and what the operator's programs ask for. */
async function view(url: string, path: string): Promise<Example> {
  const response = await fetch(`${url}/${path}`, { redirect: 'manual' });
  const location = response.headers.get('location') ?? undefined;
  const text = await response.text();
  const isJson = response.headers.get('content-type')?.includes('json') === true;
  const shown = isJson
    ? JSON.stringify(outline(JSON.parse(text)), null, 2)
    : text.split('\n').slice(0, LINES).join('\n');
  const from = /^metrics|^internal/.test(path) ? LOCAL_URL : EXAMPLE_URL;
  const at = `${from}/${path.replace('127.0.0.1', new URL(EXAMPLE_URL).hostname)}`;
  const curl = `curl ${location === undefined ? '' : '--include '}'${at}'`;
  const json = shown.replaceAll(url, EXAMPLE_URL);
  return { curl, status: response.status, location, ...(json && { json }) };
}

/** The first fields of a large document, and all of a small one. */
function outline(value: object): object {
  const fields = Object.entries(value);
  const isSmall = JSON.stringify(value).length < 1_000;
  return isSmall ? value : Object.fromEntries(fields.slice(0, 2));
}

/** A value whose lists have at most three elements, so that it can be read. */
function shortened(value: unknown): unknown {
  if (Array.isArray(value)) return value.slice(0, 3).map(shortened);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, shortened(part)]));
}

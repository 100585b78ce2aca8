import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Usage } from '@shortlink/sdk';
import { onTestFinished } from 'vitest';

export interface SeenRequest {
  method: string;
  path: string;
  headers: IncomingMessage['headers'];
  // biome-ignore lint/suspicious/noExplicitAny: tests look into bodies of any shape.
  body: any;
}

export interface StubAnswer {
  status: number;
  body?: unknown;
  headers?: Record<string, string> | undefined;
  /** Drops the connection instead of responding. */
  drop?: boolean | undefined;
  /** Responds this much later, in milliseconds. */
  afterMs?: number | undefined;
}

/** The key that the stub takes. */
export const KEY = 'sl_test_0123456789abcdef';
/** Another key of the same account, as after a rotation. */
export const NEXT_KEY = 'sl_test_fedcba9876543210';

/**
 * A service on a real socket: it creates links and jobs, and gives the responses that a test queued first. The scripted service
 * (`packages/sdk/test/scripted-service/`) is not behind it, since what it responds by itself would take more words to ask there than to say here.
 */
export interface StubService {
  url: string;
  env: Record<string, string>;
  requests: SeenRequest[];
  /** Queues responses for a route, such as `POST /api/v1/links`; unused ones fail the test. */
  answer(route: string, ...answers: StubAnswer[]): void;
  created: string[];
}

export async function stubService(): Promise<StubService> {
  const queued = new Map<string, StubAnswer[]>();
  const jobs = new Map<string, unknown>();
  const stub: StubService = {
    url: '',
    env: {},
    requests: [],
    created: [],
    answer: (route, ...answers) => {
      queued.set(route, [...(queued.get(route) ?? []), ...answers]);
    },
  };
  const server = createServer(async (request, response) => {
    const seen = await read(request);
    stub.requests.push(seen);
    const answer =
      queued.get(`${seen.method} ${seen.path}`)?.shift() ?? usualAnswer(seen, stub, jobs);
    await send(answer, response);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  stub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stub.env = { SHORTLINK_API_KEY: KEY, SHORTLINK_BASE_URL: stub.url };
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    const unused = [...queued].filter(([, answers]) => answers.length > 0).map(([route]) => route);
    if (unused.length > 0) throw new Error(`responses that were not used: ${unused.join(', ')}`);
  });
  return stub;
}

async function read(request: IncomingMessage): Promise<SeenRequest> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return {
    method: request.method ?? '',
    path: request.url ?? '',
    headers: request.headers,
    body: text === '' ? undefined : JSON.parse(text),
  };
}

async function send(answer: StubAnswer, response: ServerResponse): Promise<void> {
  if (answer.afterMs !== undefined) {
    await new Promise((resolve) => setTimeout(resolve, answer.afterMs));
  }
  if (answer.drop === true) {
    response.destroy();
    return;
  }
  response.writeHead(answer.status, { 'Content-Type': 'application/json', ...answer.headers });
  response.end(JSON.stringify(answer.body ?? {}));
}

function usualAnswer(
  { method, path, headers, body }: SeenRequest,
  stub: StubService,
  jobs: Map<string, unknown>,
): StubAnswer {
  if (headers['x-api-key'] !== KEY && headers['x-api-key'] !== NEXT_KEY) {
    return { status: 401, body: { error: 'invalid API key' } };
  }
  const create = (target_url: string) => {
    const code = `c${stub.created.push(target_url)}`;
    return { target_url, code, short_url: `https://sho.rt/${code}` };
  };
  const createAll = (links: { target_url: string }[]) => links.map((l) => create(l.target_url));
  if (method === 'POST' && path === '/api/v1/links') {
    const { title = '', redirect_type = 302, tags = [], target_url } = body;
    const link = { id: 'l1', title, redirect_type, tags, is_active: true, click_count: 0 };
    const created_at = '2026-11-20T08:00:00.000Z';
    return { status: 201, body: { ...link, ...create(target_url), created_at } };
  }
  if (method === 'POST' && path === '/api/v1/links/batch') {
    const total = body.links.length;
    const results = createAll(body.links);
    if (total <= 100) return { status: 200, body: { status: 'completed', total, results } };
    const id = `00000000-0000-4000-8000-${String(jobs.size).padStart(12, '0')}`;
    jobs.set(id, { id, status: 'completed', total, processed: total, results });
    return { status: 202, body: { job_id: id, status: 'processing', total } };
  }
  const job = jobs.get(path.replace('/api/v1/jobs/', ''));
  if (method === 'GET' && job !== undefined) return { status: 200, body: job };
  if (method === 'GET' && path === '/api/v1/usage') return { status: 200, body: USAGE };
  return { status: 404, body: { error: 'not found' } };
}

export const USAGE: Usage = {
  plan: 'pro',
  requests: {
    minute: { used: 12, limit: 60, resets_at: '2026-11-20T08:01:00.000Z' },
    day: { used: 9_000, limit: 10_000, resets_at: '2026-11-21T00:00:00.000Z' },
    month: { used: 100_000, limit: 200_000, resets_at: '2026-12-01T00:00:00.000Z' },
  },
  links: { used: 1_234, limit: null },
  api_keys: { used: 3, limit: 3 },
  batch_size: 100,
  keys: [],
};

/** An address that refuses connections. */
export async function nobodyListens(): Promise<string> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}
